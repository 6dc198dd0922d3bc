/** Finds the place that a dotted path names in the JSON Schema that an app-server generates of its own protocol. */
import { arrayAt, asObject, stringAt, type JsonObject } from "./reading.ts";

const METHOD_UNIONS = {
  clientRequests: "ClientRequest",
  clientNotifications: "ClientNotification",
  serverRequests: "ServerRequest",
  serverNotifications: "ServerNotification",
} as const;

/** Whose message it is, and whether it wants an answer. */
export type Direction = keyof typeof METHOD_UNIONS;

/** Deep enough for every path that we use; schemas refer to themselves. */
const MAX_REFERENCES = 16;

/** The bundle `codex_app_server_protocol.schemas.json`. Tolerant: what isn't there is simply not found. */
export class SchemaTree {
  readonly #definitions: JsonObject;

  constructor(bundle: unknown) {
    this.#definitions = asObject(asObject(bundle)?.["definitions"]) ?? {};
  }

  /** Every method of a direction with the schema of its params; empty when the bundle isn't what it was. */
  methods(direction: Direction): ReadonlyMap<string, unknown> {
    const union = this.#definitions[METHOD_UNIONS[direction]];
    const found = new Map<string, unknown>();
    for (const message of arrayAt(union, "oneOf")) {
      const properties = asObject(asObject(message)?.["properties"]);
      for (const method of this.values([properties?.["method"]])) found.set(method, properties?.["params"]);
    }
    return found;
  }

  /** The schema of a request's result: `XParams` are answered by `XResponse`. Null without one. */
  resultOf(params: unknown): unknown {
    const reference = stringAt(params, "$ref");
    if (reference === null || !reference.endsWith("Params")) return null;
    return this.#lookUp(reference.replace(/Params$/, "Response")) ?? null;
  }

  /**
   * The schemas at `path` below `schema`; several where it has variants. Parts are names, `*` is any member's value, and `[]` behind
   * a name is an entry of its list.
   */
  at(schema: unknown, path: string): readonly JsonObject[] {
    let here = this.#expand(schema);
    for (const part of path.replaceAll("[]", ".[]").split(".")) {
      here = here.flatMap((node) => this.#below(node, part)).flatMap((found) => this.#expand(found));
    }
    return here;
  }

  /** The fixed values of an enumeration, over all its variants. */
  values(schemas: readonly unknown[]): readonly string[] {
    return schemas
      .flatMap((schema) => [...arrayAt(schema, "enum"), asObject(schema)?.["const"]])
      .filter((value) => typeof value === "string");
  }

  /** Fields without which the app-server refuses `schema`; those of variants only where every variant wants them. */
  required(schema: unknown): readonly string[] {
    const [first = [], ...others] = this.#expand(schema)
      .filter((node) => node["properties"] !== undefined)
      .map((node) => arrayAt(node, "required").filter((name) => typeof name === "string"));
    return first.filter((name) => others.every((names) => names.includes(name)));
  }

  #below(node: JsonObject, part: string): readonly unknown[] {
    if (part === "[]") return [node["items"]].flat();
    const properties = asObject(node["properties"]) ?? {};
    if (part !== "*") return Object.hasOwn(properties, part) ? [properties[part]] : [];
    return [...Object.values(properties), node["additionalProperties"]];
  }

  /** A schema without references and unions: itself and its variants. */
  #expand(schema: unknown, depth = 0): readonly JsonObject[] {
    if (schema === true) return [{}];
    const node = asObject(schema);
    if (node === null || depth > MAX_REFERENCES) return [];
    const reference = stringAt(node, "$ref");
    const target = reference === null ? [] : this.#expand(this.#lookUp(reference), depth + 1);
    const variants = ["anyOf", "oneOf", "allOf"].flatMap((union) => arrayAt(node, union));
    return [node, ...target, ...variants.flatMap((variant) => this.#expand(variant, depth + 1))];
  }

  /** Old bundles keep newer definitions under `v2` and refer to them from anywhere without saying so. */
  #lookUp(reference: string): unknown {
    const name = reference.split("/").at(-1) ?? "";
    const newer = asObject(this.#definitions["v2"]);
    return reference.includes("/v2/") ? newer?.[name] : (this.#definitions[name] ?? newer?.[name]);
  }
}
