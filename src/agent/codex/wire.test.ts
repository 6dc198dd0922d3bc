import { describe, expect, it } from "vitest";
import { parseLine } from "./wire.ts";

describe("telling messages apart", () => {
  it.each([
    ["a request, also with id 0", '{"id":0,"method":"item/tool/call","params":{}}', "request"],
    ["a request with a string id", '{"id":"a","method":"m","params":{}}', "request"],
    ["a notification", '{"method":"turn/started","params":{},"emittedAtMs":1}', "notification"],
    ["a result", '{"id":0,"result":{}}', "result"],
    ["a result without its value", '{"id":3}', "result"],
    ["an error", '{"id":1,"error":{"code":-32600,"message":"no"}}', "error"],
    ["an empty line", "", "blank"],
    ["blanks", " \t", "blank"],
    ["words", "Welcome to the machine", "noise"],
    ["JSON that is no object", "[1,2]", "noise"],
    ["an object that is no message", '{"hello":1}', "noise"],
    ["an error without an id", '{"error":{"code":1,"message":"x"}}', "noise"],
    ["a cut message", '{"id":1,"result":{"a":', "noise"],
  ])("%s", (_name, line, kind) => {
    expect(parseLine(line).kind).toBe(kind);
  });

  it.each([
    ["a terminal escape", "\u001b]0;title\u0007"],
    ["a word", "hello"],
    ["braces", "{x} ${y} {"],
  ])("finds a message behind %s without a newline", (_name, prefix) => {
    expect(parseLine(`${prefix}{"id":1,"result":{"userAgent":"x"}}`)).toEqual({
      kind: "result",
      id: 1,
      result: { userAgent: "x" },
    });
  });

  it("keeps only a sample of noise", () => {
    const noise = parseLine("z".repeat(5000));
    expect(noise).toMatchObject({ kind: "noise" });
    expect(JSON.stringify(noise).length).toBeLessThan(300);
  });

  it("reads an error whose fields are missing or odd", () => {
    expect(parseLine('{"id":1,"error":{"code":"x"}}')).toEqual({
      kind: "error",
      id: 1,
      error: { code: -32603, message: "no message", data: undefined },
    });
  });
});
