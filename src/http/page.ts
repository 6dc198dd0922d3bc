/** The dashboard's files at `/` and `/assets/`: compiled ones from the package, libraries from where they are installed. Read when first asked for. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Context, Hono } from "hono";
import { packageFile } from "../lib/package-file.ts";
import { apiError } from "./envelope.ts";

/** Made by `npm run build:dashboard`, which the install runs, in a checkout as in the package. */
const COMPILED = pathToFileURL(packageFile("dist/dashboard/"));

const ASSETS = "/assets/";

/** What the page loads of others, by the name that its modules import; nothing else of node_modules can be asked for. */
const LIBRARIES: Readonly<Record<string, { readonly name: string; readonly file: string }>> = {
  preact: { name: "preact.js", file: "preact" },
  "preact/hooks": { name: "preact-hooks.js", file: "preact/hooks" },
  "preact/jsx-runtime": { name: "preact-jsx-runtime.js", file: "preact/jsx-runtime" },
  uplot: { name: "uplot.js", file: "uplot/dist/uPlot.esm.js" },
  "uplot/style": { name: "uplot.css", file: "uplot/dist/uPlot.min.css" },
};

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** No path in it, and no dot but the one before its type. */
const FILE_NAME = /^[a-z][a-z-]*\.(js|css|svg)$/;

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  // Asked again each time, and answered 304 by content: a page never runs with scripts of another version.
  "cache-control": "no-cache",
} as const;

interface Asset {
  readonly body: string;
  readonly type: string;
  readonly etag: string;
}

/** Serves the dashboard. Its files are the same for everybody and hold nothing of the daemon's, so they need no token. */
export function addPage(app: Hono): void {
  const assets = new Map<string, Promise<Asset | null>>();
  const send = async (context: Context, name: string): Promise<Response | undefined> => {
    const reading = assets.get(name) ?? readAsset(name);
    assets.set(name, reading);
    const asset = await reading;
    // Kept only when it was there: it may be compiled while the daemon runs.
    if (asset === null) assets.delete(name);
    return asset === null ? undefined : answer(context, asset);
  };
  app.get("/", async (context) => (await send(context, "index.html")) ?? notCompiled(context));
  app.get(`${ASSETS}:name`, async (context, next) => {
    const name = context.req.param("name");
    return (FILE_NAME.test(name) ? await send(context, name) : undefined) ?? next();
  });
}

/** Whether a path is one of the dashboard's files. */
export function isPagePath(path: string): boolean {
  return path === "/" || path.startsWith(ASSETS);
}

function answer(context: Context, { body, type, etag }: Asset): Response {
  const headers = { ...HEADERS, etag };
  if (context.req.header("if-none-match") === etag) return context.body(null, 304, headers);
  return context.body(body, 200, { ...headers, "content-type": type });
}

function notCompiled(context: Context): Response {
  return apiError(
    context,
    503,
    "unavailable",
    "the dashboard isn't compiled; run npm run build:dashboard in the checkout. The API is there: /api/v1/state",
  );
}

/** Null for a file that there isn't. */
async function readAsset(name: string): Promise<Asset | null> {
  const library = Object.values(LIBRARIES).find((one) => one.name === name);
  const url = library === undefined ? new URL(name, COMPILED) : new URL(import.meta.resolve(library.file));
  let text: string;
  try {
    text = await readFile(fileURLToPath(url), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  const body = name.endsWith(".js") ? withPaths(text) : text;
  const hash = createHash("sha256").update(body).digest("base64url");
  return { body, type: TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "text/plain", etag: `"${hash}"` };
}

/** Browsers load by path: names of packages become the paths that they are served at. An import map would need an inline script. */
function withPaths(script: string): string {
  return script.replace(/(\bfrom\s*)"([a-z/-]+)"/g, (whole, from: string, specifier: string) => {
    const library = LIBRARIES[specifier];
    return library === undefined ? whole : `${from}"./${library.name}"`;
  });
}
