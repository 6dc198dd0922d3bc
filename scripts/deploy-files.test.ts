/** The deployment's files keep to their rules, and a file that breaks one is found. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aptPackages, composeProblems, dockerfileProblems, unitProblems } from "./deploy-files.ts";

const root = new URL("..", import.meta.url).pathname;
const read = (name: string): string => readFileSync(join(root, "docker", name), "utf8");
const CODEX = "0.171.0";
const DRAIN_MS = 30_000;

test("the shipped files have no problem", () => {
  expect(dockerfileProblems(root, read("Dockerfile"), CODEX)).toEqual([]);
  expect(composeProblems(root, read("compose.yaml"), DRAIN_MS)).toEqual([]);
  expect(unitProblems(read("symphony.service"), DRAIN_MS)).toEqual([]);
});

test("the image's packages are found behind options and line ends", () => {
  expect(aptPackages(read("Dockerfile"))).toContain("tini");
  expect(aptPackages(read("Dockerfile"))).not.toContain("--yes");
});

test.each([
  ["COPY package.json", "COPY missing.json", "COPY of missing.json, which the context lacks"],
  ["COPY package.json", "COPY docs package.json", "COPY of docs, which the context lacks"],
  ["/build/workflows", "/build/flows", "COPY of /build/flows, which the build lacks"],
  ["USER symphony", "USER root", "the image runs as root"],
  ['"tini", "--", ', "", "tini isn't the first process"],
  [/HEALTHCHECK.*/, "", "no HEALTHCHECK"],
  [
    "ARG CODEX_VERSION=0.171.0",
    "ARG CODEX_VERSION=0.1.0",
    "CODEX_VERSION isn't 0.171.0, which the client is tested with",
  ],
] as const)("Dockerfile: %s become %s is found", (what, other, problem) => {
  expect(dockerfileProblems(root, read("Dockerfile").replace(what, other), CODEX)).toEqual([problem]);
});

test.each([
  ["context: ..", "context: .", /no Dockerfile at /],
  ["stop_grace_period: 60s", "stop_grace_period: 30s", /within shutdown\.drain_ms/],
  ["\n  codex:\n", "\n", /the volume codex isn't declared/],
] as const)("compose file: %j become %j is found", (what, other, problem) => {
  expect(composeProblems(root, read("compose.yaml").replace(what, other), DRAIN_MS).join("\n")).toMatch(problem);
});

test.each([
  ["[Install]", "RestrictNamespaces=yes\n[Install]", "RestrictNamespaces breaks the agent's sandbox"],
  ["KillMode=mixed", "KillMode=process", "KillMode isn't mixed: the daemon couldn't end its agents in order"],
  ["TimeoutStopSec=90", "TimeoutStopSec=30", "TimeoutStopSec is within shutdown.drain_ms"],
  ["User=symphony", "User=root", "the service runs as root"],
] as const)("unit: %s become %s is found", (what, other, problem) => {
  expect(unitProblems(read("symphony.service").replace(what, other), DRAIN_MS)).toEqual([problem]);
});
