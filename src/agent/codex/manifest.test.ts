import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MANIFEST, type MessageUse } from "./manifest.ts";

/** Read of servers before 0.139, of MCP servers or of the configuration, or written by ourselves: not in the schema of 0.171.0. */
const OUTSIDE = {
  methods: ["codex/event/token_count"],
  fields: [
    "cached_input_tokens",
    "codex_approval_kind",
    "enabled",
    "include_only",
    "info",
    "input_tokens",
    "isError",
    "mcp_servers",
    "msg",
    "output_tokens",
    "rateLimits",
    "reasoning_output_tokens",
    "shell_environment_policy",
    "tool_name",
    "total_token_usage",
    "total_tokens",
    // Members of a JSON-RPC message, and data of our own.
    "code",
    "data",
    "error",
    "id",
    "method",
    "params",
    "policy",
    "result",
    "stderr",
  ],
};

/** These read schemas, not messages. */
const ABOUT_SCHEMAS = ["drift.ts", "manifest.ts", "schema-tree.ts"];

const here = new URL("./", import.meta.url);
const sources = readdirSync(here)
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !ABOUT_SCHEMAS.includes(name))
  .map((name) => readFileSync(new URL(name, here), "utf8"))
  .join("\n");

function uses(): (readonly [method: string, use: MessageUse])[] {
  const { clientRequests, clientNotifications, serverRequests, serverNotifications } = MANIFEST;
  return [clientRequests, clientNotifications, serverRequests, serverNotifications].flatMap((part) =>
    Object.entries<MessageUse>(part),
  );
}

const methods = new Set(uses().map(([method]) => method));

/** Every name on a path of the manifest. */
function knownFields(): ReadonlySet<string> {
  const paths = uses().flatMap(([, { params = {}, result = {} }]) => Object.keys({ ...params, ...result }));
  return new Set(paths.flatMap((path) => path.replaceAll("[]", "").split(".")));
}

describe("the manifest names", () => {
  it("every method that the client's source names, and no method that it doesn't", () => {
    const named = [...sources.matchAll(/"([a-z]+[A-Za-z]*(?:\/[A-Za-z_]+)+)"/g)].map((found) => found[1] ?? "");
    const unknown = named.filter((method) => !methods.has(method) && !OUTSIDE.methods.includes(method));
    expect(named.length).toBeGreaterThan(20);
    expect(unknown).toEqual([]);
    const telemetry = /^(hook|item\/autoApprovalReview)\/|elta$|^thread\/status\/changed$/;
    const unnamed = [...methods].filter((method) => !telemetry.test(method) && !sources.includes(`"${method}"`));
    expect(unnamed).toEqual([]);
  });

  it("every field that the client reads by its name", () => {
    const reads = /(?:string|number|boolean|object|array|count)At\((?:[^()"]|\([^()]*\))*,\s*((?:"\w+"(?:,\s*)?)+)\)/g;
    const read = [...sources.matchAll(reads)].flatMap((found) => (found[1] ?? "").match(/\w+/g) ?? []);
    const indexed = [...sources.matchAll(/\?\.?\["(\w+)"\]|(?:fields|message|error)\["(\w+)"\]/g)];
    const names = [...read, ...indexed.map((found) => found[1] ?? found[2] ?? "")];
    expect(names.length).toBeGreaterThan(60);
    const known = knownFields();
    const unknown = names.filter((name) => !known.has(name) && !OUTSIDE.fields.includes(name));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it("no notification among the unused that it also reads", () => {
    expect(MANIFEST.unused.filter((method) => methods.has(method))).toEqual([]);
  });
});
