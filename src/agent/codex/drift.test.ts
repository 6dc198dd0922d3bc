import { describe, expect, it } from "vitest";
import { describeDrift, findDrift } from "./drift.ts";
import type { ProtocolManifest } from "./manifest.ts";

const manifest: ProtocolManifest = {
  version: "1.0.0",
  clientRequests: {
    "thing/start": {
      params: { mode: ["fast"], "input[].text": "string", "input[].type": ["text"] },
      result: { "thing.id": "string", "thing.state": ["done", "failed"], "thing.error.*.status": "number" },
    },
  },
  clientNotifications: {},
  serverRequests: { ask: { params: { question: "string" }, result: { decision: ["yes", "no"] } } },
  serverNotifications: { told: { params: { count: "number" } } },
  refusedRequests: ["other"],
  unused: ["noise"],
};

type Schema = Readonly<Record<string, unknown>>;

function message(method: string, params: string): Schema {
  return { properties: { method: { enum: [method] }, params: { $ref: `#/definitions/${params}` } } };
}

function object(properties: Schema, required: readonly string[] = []): Schema {
  return { type: "object", properties, required };
}

/** A bundle in which everything is as the manifest has it; `definitions` replace parts of it. */
function bundle(definitions: Schema = {}): unknown {
  return {
    definitions: {
      ClientRequest: { oneOf: [message("thing/start", "ThingStartParams")] },
      ClientNotification: { oneOf: [] },
      ServerRequest: { oneOf: [message("ask", "AskParams"), message("other", "AskParams")] },
      ServerNotification: { oneOf: [message("told", "ToldNotification"), message("noise", "ToldNotification")] },
      ThingStartParams: object({
        mode: { enum: ["fast", "slow"] },
        input: { type: "array", items: { $ref: "#/d/In" } },
      }),
      In: {
        oneOf: [object({ type: { enum: ["text"] }, text: { type: "string" } }), object({ type: { enum: ["x"] } })],
      },
      AskParams: object({ question: { type: ["string", "null"] } }),
      AskResponse: object({ decision: { oneOf: [{ const: "yes" }, { enum: ["no"] }] } }, ["decision"]),
      ToldNotification: object({ count: { type: "integer" } }, ["count"]),
      v2: {
        ThingStartResponse: object({ thing: { anyOf: [{ $ref: "#/definitions/v2/Thing" }, { type: "null" }] } }),
        Thing: object({
          id: { type: "string" },
          state: { enum: ["done", "failed"] },
          error: { oneOf: [{ type: "string" }, object({ http: object({ status: { type: "integer" } }) })] },
        }),
      },
      ...definitions,
    },
  };
}

function told(definitions: Schema): readonly string[] {
  return findDrift(bundle(definitions), manifest).map(describeDrift);
}

describe("drift", () => {
  it("is none where all that is used is there, whatever else there is", () => {
    expect(told({ Another: object({ a: {} }) })).toEqual([]);
  });

  it("is a method that is gone, sent, read or unwanted", () => {
    expect(told({ ClientRequest: { oneOf: [] } })).toEqual(["thing/start: we send it, and there is no such method"]);
    expect(told({ ServerNotification: { oneOf: [] } })).toEqual([
      "told: we read it, and there is no such method",
      "noise: we opt out of it, and there is no such method",
    ]);
  });

  it("is a field that is gone, or of another type", () => {
    const places = "thing/start params.input[].text";
    expect(told({ In: object({ type: { enum: ["text"] } }) })).toEqual([`${places}: there is no such field`]);
    expect(told({ In: object({ type: { enum: ["text"] }, text: { type: "array" } }) })).toEqual([
      `${places}: was string, is array`,
    ]);
    expect(told({ ToldNotification: object({ count: { type: "string" } }) })).toEqual([
      "told params.count: was number, is string",
    ]);
  });

  it("is a value that we send and that is gone, but not one more that we could send", () => {
    expect(told({ AskResponse: object({ decision: { enum: ["yes", "maybe"] } }) })).toEqual([
      "ask result.decision: can't be no",
    ]);
  });

  it("is a value more that we may read", () => {
    const state = object({ id: { type: "string" }, state: { enum: ["done", "failed", "lost"] } });
    const response = object({
      thing: { allOf: [state, object({ error: object({ x: object({ status: { type: "number" } }) }) })] },
    });
    expect(told({ v2: { ThingStartResponse: response } })).toEqual([
      "thing/start result.thing.state: may also be lost",
    ]);
  });

  it("is a request that the app-server may newly make", () => {
    const asks = ["ask", "other", "confess"].map((method) => message(method, "AskParams"));
    expect(told({ ServerRequest: { oneOf: asks } })).toEqual(["confess: a request that we don't know; it is refused"]);
  });

  it("is a field without which what we send is refused, unless only a variant wants it", () => {
    const [mode, input] = [{ enum: ["fast"] }, { items: { $ref: "#/d/In" } }];
    expect(told({ ThingStartParams: object({ mode, input, key: {} }, ["mode", "key"]) })).toEqual([
      "thing/start params.key: is required, and we don't send it",
    ]);
    const variants = { oneOf: [object({ mode, input }, ["key"]), object({ mode, input })] };
    expect(told({ ThingStartParams: variants })).toEqual([]);
    expect(told({ AskResponse: object({ decision: { enum: ["yes", "no"] } }, ["decision", "why"]) })).toEqual([
      "ask result.why: is required, and we don't send it",
    ]);
  });

  it("is everything where the bundle is none, without an error", () => {
    expect(findDrift(null, manifest).map(({ kind }) => kind)).toEqual(Array.from({ length: 4 }, () => "method_gone"));
  });

  it("comes to an end in a schema that refers to itself", () => {
    expect(told({ In: { $ref: "#/definitions/In" } })).toHaveLength(2);
  });
});
