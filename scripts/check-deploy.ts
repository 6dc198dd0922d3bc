/** `npm run check:deploy`: what can be proved of package, image and unit on a machine without a Docker engine; says what it doesn't prove. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { aptPackages, composeProblems, dockerfileProblems, unitProblems } from "./deploy-files.ts";

const root = new URL("..", import.meta.url).pathname;
/** What the client is tested with (test/codex installs it). */
const TESTED_CODEX = "0.171.0";
/** The default of shutdown.drain_ms. */
const DRAIN_MS = 30_000;
/** All of it together; on two idle processors it takes half a minute. Whatever still runs then is killed, and fails. */
const DEADLINE_MS = 300_000;

const startedAt = performance.now();

const failed: string[] = [];
const unproved = ["an image built by an engine, and a container under its profiles (no Docker engine is used here)"];

function report(what: string, problems: readonly string[]): void {
  process.stdout.write(`${problems.length === 0 ? "ok  " : "FAIL"} ${what}\n`);
  for (const problem of problems) process.stdout.write(`       ${problem}\n`);
  if (problems.length > 0) failed.push(what);
}

interface Started {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Everything that it wrote. */
  readonly output: string;
}

function run(cwd: string, env: NodeJS.ProcessEnv, command: string, ...args: readonly string[]): Started {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    // Nobody answers questions here.
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 64 * 1024 * 1024,
    // Zero would mean that there is no limit.
    timeout: Math.max(1, Math.round(startedAt + DEADLINE_MS - performance.now())),
    killSignal: "SIGKILL",
  });
  const output = [error?.message, stdout, stderr].filter((part) => part !== undefined).join("\n");
  return { status, stdout, stderr, output };
}

function problemsOf({ status, output }: Started): readonly string[] {
  return status === 0 ? [] : output.trim().split("\n").slice(-12);
}

function has(program: string): boolean {
  return spawnSync("sh", ["-c", 'command -v "$1"', "sh", program]).status === 0;
}

/** Without them apt-cache knows only what is installed. */
function hasPackageLists(): boolean {
  const lists = "/var/lib/apt/lists";
  return has("apt-cache") && existsSync(lists) && readdirSync(lists).some((name) => /_Packages(\.\w+)?$/.test(name));
}

function checkFiles(): void {
  const read = (name: string): string => readFileSync(join(root, "docker", name), "utf8");
  const dockerfile = read("Dockerfile");
  report("docker/Dockerfile", dockerfileProblems(root, dockerfile, TESTED_CODEX));
  report("docker/compose.yaml", composeProblems(root, read("compose.yaml"), DRAIN_MS));
  report("docker/symphony.service", unitProblems(read("symphony.service"), DRAIN_MS));
  if (hasPackageLists()) {
    const missing = aptPackages(dockerfile).filter(
      (name) => run(root, process.env, "apt-cache", "show", name).status !== 0,
    );
    report("the image's Debian packages exist", missing);
  } else {
    unproved.push("that the image's Debian packages exist (no lists of packages here; apt-get update fetches them)");
  }
}

/** The unit as systemd reads it, with a program that exists in the place of the installed one. */
function checkUnit(dir: string): void {
  if (!has("systemd-analyze")) {
    unproved.push("the unit as systemd reads it (no systemd-analyze)");
    return;
  }
  const unit = join(dir, "symphony.service");
  const text = readFileSync(join(root, "docker/symphony.service"), "utf8");
  writeFileSync(unit, text.replace("/usr/local/bin/symphony", "/bin/true"));
  const { output } = run(dir, process.env, "systemd-analyze", "verify", unit);
  report(
    "systemd-analyze verify",
    output.split("\n").filter((line) => line.includes("symphony.service")),
  );
  unproved.push("the service under a running systemd");
}

/**
 * From the cache where it can be. A registry that can't be reached fails at once: by default each package in turn is tried three
 * times with pauses of up to a minute, which looks like a hang.
 */
const INSTALL_OPTIONS = [
  "--omit=dev",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--fetch-retries=1",
  "--fetch-retry-maxtimeout=1000",
  "--fetch-timeout=60000",
];

/** Packs, installs into an empty folder, and works the demo's board from there; PATH has no tool of this checkout but its Node. */
function checkPackage(dir: string): void {
  const nodeDir = join(process.execPath, "..");
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${nodeDir}:${process.env["PATH"] ?? ""}`,
    HOME: dir,
  };
  // What `npm run` left in the environment is about this checkout; where packages come from is the user's own affair.
  for (const name of Object.keys(env)) if (name.startsWith("npm_")) delete env[name];
  // What `npm ci` has fetched for this checkout needn't be fetched again.
  env["npm_config_cache"] = run(root, process.env, "npm", "config", "get", "cache").stdout.trim();
  env["npm_config_userconfig"] = join(homedir(), ".npmrc");
  // This Node brings certificates of its own: a mirror that the machine trusts has to be trusted all the same.
  env["NODE_USE_SYSTEM_CA"] = "1";
  const packed = run(root, env, "npm", "pack", "--silent", "--pack-destination", dir);
  report("npm pack", problemsOf(packed));
  const archive = join(dir, packed.stdout.trim().split("\n").at(-1) ?? "");
  report("publint", problemsOf(run(root, process.env, "publint", archive, "--strict")));
  const place = join(dir, "empty");
  mkdirSync(place);
  // Without a manifest npm would look for one in the folders above.
  writeFileSync(join(place, "package.json"), "{}");
  report("npm install in an empty folder", problemsOf(run(place, env, "npm", "install", ...INSTALL_OPTIONS, archive)));
  const symphony = join(place, "node_modules/.bin/symphony");
  const demo = run(place, env, symphony, "demo", "--json");
  const last = demo.stdout.trim().split("\n").at(-1) ?? "";
  report(
    "the demo from the installed package",
    demo.status === 0 && last.includes('"done":6') ? [] : demo.output.trim().split("\n").slice(-8),
  );
  checkOldNode(place, symphony);
}

/** The machine's own Node, where it is an older one, gets one line. */
function checkOldNode(place: string, symphony: string): void {
  const old = ["/usr/local/bin/node", "/usr/bin/node"].find((path) => {
    const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
    return status === 0 && Number.parseInt(stdout.slice(1), 10) < 24;
  });
  if (old === undefined) {
    unproved.push("the one line under an old Node (none is installed)");
    return;
  }
  const { status, stderr } = run(place, process.env, old, symphony, "--version");
  const isOneLine = status === 1 && /^symphony: needs Node\.js 24 [^\n]*\n$/.test(stderr);
  report("one clear line under an old Node", isOneLine ? [] : [stderr]);
}

const dir = mkdtempSync(join(tmpdir(), "symphony-deploy-"));
try {
  checkFiles();
  checkUnit(dir);
  checkPackage(dir);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
for (const what of unproved) process.stdout.write(`not proved: ${what}\n`);
if (failed.length > 0) {
  process.stdout.write(`failed: ${failed.join(", ")}\n`);
  process.exitCode = 1;
}
