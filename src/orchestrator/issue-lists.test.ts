/** Which ticket a typed identifier means. */
import { expect, it } from "vitest";
import { makeIssue } from "../../test/support/issues.ts";
import { initialState } from "../scheduler/state.ts";
import { findKnownIssue } from "./issue-lists.ts";

it("is the one that is spelled so, else one that differs in letter case alone", () => {
  const state = { ...initialState(), candidates: [makeIssue("ENG-1"), makeIssue("eng-1"), makeIssue("Ops-2")] };
  const found = (typed: string) => findKnownIssue(state, typed)?.identifier;
  expect([found("eng-1"), found("ENG-1"), found("Eng-1")]).toEqual(["eng-1", "ENG-1", "ENG-1"]);
  expect([found("OPS-2"), found("OPS-3")]).toEqual(["Ops-2", undefined]);
});
