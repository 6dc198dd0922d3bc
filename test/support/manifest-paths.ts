/** What a client sent that the protocol's manifest doesn't list. */
import { MANIFEST, type MessageUse, type Shape } from "../../src/agent/codex/manifest.ts";
import { isRecord } from "../../src/agent/simulated/wire.ts";

type Shapes = Readonly<Record<string, Shape>>;

/** The use of a method that the client sends, or answers. */
function useOf(method: string): MessageUse | undefined {
  const { clientRequests, clientNotifications, serverRequests } = MANIFEST;
  const all: Readonly<Record<string, MessageUse>> = { ...clientRequests, ...clientNotifications, ...serverRequests };
  return Object.hasOwn(all, method) ? all[method] : undefined;
}

/** Methods, fields and enumerated values that are missing in the manifest: of a request's params, or of the answer to one. */
export function unlisted(method: string, side: "params" | "result", value: unknown): readonly string[] {
  const use = useOf(method);
  if (use === undefined) return [method];
  return missing(value ?? {}, use[side] ?? {}, "").map((what) => `${method} ${side}.${what}`);
}

function missing(value: unknown, shapes: Shapes, path: string): readonly string[] {
  const shape = shapes[path];
  const isLeaf = !Object.keys(shapes).some((key) => key !== path && isBelow(key, path));
  if (shape !== undefined && isLeaf) {
    const isFreeText = typeof shape === "string" || typeof value !== "string" || shape.includes(value);
    return isFreeText ? [] : [`${path} = ${value}`];
  }
  if (Array.isArray(value)) return value.flatMap((entry) => missing(entry, shapes, `${path}[]`));
  if (!isRecord(value)) return shape === undefined ? [path] : [];
  return Object.entries(value).flatMap(([name, entry]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const isNamed = Object.keys(shapes).some((key) => isBelow(key, at));
    return missing(entry, shapes, isNamed || path === "" ? at : `${path}.*`);
  });
}

function isBelow(key: string, path: string): boolean {
  return path === "" || key === path || key.startsWith(`${path}.`) || key.startsWith(`${path}[`);
}
