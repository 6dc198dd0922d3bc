import { describe, expect, test } from "vitest";
import { findTicket } from "./behaviour.ts";
import { simulatedAgentCommand } from "./command.ts";
import { simulatedHome } from "./identity.ts";

describe("the ticket of a thread", () => {
  const keys = ["ENG-1", "ENG-12", "A/B", "*"];

  test.each([
    ["by the thread's name", { name: "ENG-12: do it", cwd: "/w/ENG-1" }, "about ENG-1", "ENG-12"],
    ["by the directory's name", { name: null, cwd: "/w/ENG-1" }, "about ENG-12", "ENG-1"],
    ["by the first identifier in the prompt", { name: null, cwd: "/w/x" }, "fix ENG-12, then ENG-1", "ENG-12"],
    ["by a whole word only", { name: null, cwd: "/w/x" }, "xENG-1 ENG-123 ENG-12", "ENG-12"],
    ["by an identifier with a slash", { name: null, cwd: "/w/A_B-0123456789abcdef" }, "Ticket A/B: x", "A/B"],
    ["by the name when no key fits", { name: "OPS-3: x", cwd: "/w/y" }, "nothing", "OPS-3"],
    ["by the directory when nothing else is known", { name: null, cwd: "/w/OPS-4" }, "nothing", "OPS-4"],
  ])("is known %s", (_, thread, prompt, ticket) => {
    expect(findTicket(keys, thread, prompt)).toBe(ticket);
  });
});

describe("the command for codex.command", () => {
  test("quotes every path and puts the options in front as environment", () => {
    const command = simulatedAgentCommand({ script: "/a b/it's.json", home: "/h" });
    expect(command).toMatch(
      /^NODE_COMPILE_CACHE='[^']+' SYMPHONY_SIMULATED_SCRIPT='\/a b\/it'\\''s\.json' SYMPHONY_SIMULATED_HOME='\/h' '/,
    );
    expect(command).toMatch(/simulated\/main\.ts'$/);
  });
});

describe("the agent's home", () => {
  test.each([
    [{ SYMPHONY_SIMULATED_HOME: "/own", CODEX_HOME: "/codex", HOME: "/me" }, "/own"],
    [{ CODEX_HOME: "/codex", HOME: "/me" }, "/codex/simulated-agent"],
    [{ HOME: "/me" }, "/me/.local/state/symphony/simulated-agent"],
  ])("for %j is %s", (env, home) => {
    expect(simulatedHome(env)).toBe(home);
  });
});
