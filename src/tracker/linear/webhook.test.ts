import { createHmac } from "node:crypto";

import { describe, expect, it } from "vitest";

import { ManualClock } from "../../../test/support/manual-clock.ts";
import { WebhookVerifier } from "./webhook.ts";

const SECRET = "the-signing-secret";

function sign(body: Buffer, secret = SECRET): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}

function bodyOf(payload: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(JSON.stringify({ type: "Issue", action: "update", webhookTimestamp: Date.now(), ...payload }));
}

function verifier(clock = new ManualClock()): WebhookVerifier {
  return new WebhookVerifier(SECRET, clock);
}

describe("a webhook delivery", () => {
  it.each(["Issue", "IssueLabel", "Project", "AgentSessionEvent"])("of type %s wakes the poll", (type) => {
    const body = bodyOf({ type });
    expect(verifier().judge(body, sign(body))).toEqual({ kind: "wake" });
  });

  it.each(["Reaction", "Comment", "", 7])("of type %j is accepted and wakes nobody", (type) => {
    const body = bodyOf({ type });
    expect(verifier().judge(body, sign(body)).kind).toBe("ignore");
  });

  it.each([
    ["opened by Linear", { action: "created" }, { kind: "session" }],
    [
      "in which a person has spoken",
      { action: "prompted", agentActivity: { signal: null, content: { type: "prompt", body: "go on" } } },
      { kind: "prompt", text: "go on", isStop: false },
    ],
    [
      "that a person stops",
      { action: "prompted", agentActivity: { signal: "stop", content: { type: "prompt", body: "Stop" } } },
      { kind: "prompt", text: "Stop", isStop: true },
    ],
    [
      "with a prompt that can't be read",
      { action: "prompted", agentActivity: 7 },
      { kind: "prompt", text: "", isStop: false },
    ],
  ])("of a session %s says so", (_what, more, verdict) => {
    const body = bodyOf({ type: "AgentSessionEvent", agentSession: { id: "s", issueId: "i" }, ...more });
    expect(verifier().judge(body, sign(body))).toEqual({ ...verdict, sessionId: "s", issueId: "i" });
  });

  it("of a session about no issue only wakes", () => {
    const body = bodyOf({ type: "AgentSessionEvent", action: "created", agentSession: { id: "s", issueId: null } });
    expect(verifier().judge(body, sign(body))).toEqual({ kind: "wake" });
  });

  it("with bytes that are no plain text is judged by its bytes", () => {
    const body = bodyOf({ title: "größer → 🎉" });
    expect(verifier().judge(body, sign(body))).toEqual({ kind: "wake" });
  });

  it.each<[string, (body: Buffer) => string | undefined]>([
    ["no signature", () => undefined],
    ["an empty signature", () => ""],
    ["somebody else's signature", (body) => sign(body, "another")],
    ["a signature of another body", () => sign(bodyOf({ title: "other" }))],
    ["a signature cut short", (body) => sign(body).slice(0, -2)],
    ["a signature that is no hex", () => "z".repeat(64)],
  ])("with %s is refused", (_name, signature) => {
    const body = bodyOf({});
    expect(verifier().judge(body, signature(body)).kind).toBe("refuse");
  });

  it.each([
    ["an old time", Date.now() - 61_000],
    ["a time to come", Date.now() + 120_000],
    ["no time", undefined],
    ["a time that is no number", "now"],
  ])("with %s in its signed body is refused, however well it is signed", (_name, webhookTimestamp) => {
    const body = bodyOf({ webhookTimestamp });
    expect(verifier().judge(body, sign(body)).kind).toBe("refuse");
  });

  it("that is no JSON is refused, however well it is signed", () => {
    for (const text of ["", "{", "null", "<html>"]) {
      const body = Buffer.from(text);
      expect(verifier().judge(body, sign(body)).kind).toBe("refuse");
    }
  });

  it("that comes again wakes once, whatever its unsigned headers say; a refused one isn't remembered", () => {
    const judge = verifier();
    const body = bodyOf({ title: "a" });
    expect(judge.judge(body, "wrong").kind).toBe("refuse");
    expect(judge.judge(body, sign(body)).kind).toBe("wake");
    expect(judge.judge(body, sign(body)).kind).toBe("ignore");
    const other = bodyOf({ title: "b" });
    expect(judge.judge(other, sign(other)).kind).toBe("wake");
  });

  it("is forgotten once its signed time could no longer pass", async () => {
    const clock = new ManualClock();
    const judge = verifier(clock);
    const body = bodyOf({});
    expect(judge.judge(body, sign(body)).kind).toBe("wake");
    await clock.advance(179_999);
    expect(judge.judge(body, sign(body)).kind).toBe("ignore");
    await clock.advance(1);
    expect(judge.judge(body, sign(body)).kind).toBe("wake");
  });
});
