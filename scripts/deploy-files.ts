/** What can be known of Dockerfile, compose file and unit without an engine: that what they name exists, and that they keep to their rules. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** One instruction of a Dockerfile, continuation lines joined. */
interface Instruction {
  readonly word: string;
  readonly rest: string;
}

function instructionsOf(text: string): readonly Instruction[] {
  const joined = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, " ");
  return joined
    .split("\n")
    .map((line) => /^([A-Z]+)\s+(.*)$/.exec(line.trim()))
    .flatMap((match) => (match === null ? [] : [{ word: match[1] ?? "", rest: match[2] ?? "" }]));
}

/** Debian packages that the image installs. */
export function aptPackages(dockerfile: string): readonly string[] {
  const install = instructionsOf(dockerfile).find(({ rest }) => rest.includes("apt-get install"))?.rest ?? "";
  const words = /apt-get install ([^&]*)/.exec(install)?.[1]?.split(/\s+/) ?? [];
  return words.filter((word) => word !== "" && !word.startsWith("-"));
}

/** What is wrong with the Dockerfile; `testedCodex` is the version of the agent that the client is tested with. */
export function dockerfileProblems(root: string, dockerfile: string, testedCodex: string): readonly string[] {
  const instructions = instructionsOf(dockerfile);
  const lastStage = instructions.slice(instructions.findLastIndex(({ word }) => word === "FROM"));
  const ignored = new Set(readFileSync(join(root, ".dockerignore"), "utf8").split("\n"));
  const problems: string[] = [];
  for (const { word, rest } of instructions) {
    if (word !== "COPY" || rest.startsWith("--from=")) continue;
    for (const source of rest.split(/\s+/).slice(0, -1)) {
      if (!existsSync(join(root, source)) || ignored.has(source)) {
        problems.push(`COPY of ${source}, which the context lacks`);
      }
    }
  }
  for (const { word, rest } of instructions) {
    const sources = word === "COPY" && rest.startsWith("--from=build") ? rest.split(/\s+/).slice(1, -1) : [];
    for (const source of sources) {
      const path = source.replace(/^\/build\//, "");
      if (!["dist", "node_modules"].includes(path) && !existsSync(join(root, path))) {
        problems.push(`COPY of ${source}, which the build lacks`);
      }
    }
  }
  const user = lastStage.findLast(({ word }) => word === "USER")?.rest;
  if (user === undefined || user === "root") problems.push("the image runs as root");
  if (!lastStage.some(({ word, rest }) => word === "ENTRYPOINT" && rest.includes('"tini"'))) {
    problems.push("tini isn't the first process");
  }
  if (!lastStage.some(({ word }) => word === "HEALTHCHECK")) problems.push("no HEALTHCHECK");
  if (!lastStage.some(({ word, rest }) => word === "ARG" && rest === `CODEX_VERSION=${testedCodex}`)) {
    problems.push(`CODEX_VERSION isn't ${testedCodex}, which the client is tested with`);
  }
  return problems;
}

interface Compose {
  readonly services?: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

interface Service {
  readonly build?: { readonly context?: string; readonly dockerfile?: string };
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
}

/** What is wrong with the compose file; `drainMs` is the default of shutdown.drain_ms. */
export function composeProblems(root: string, text: string, drainMs: number): readonly string[] {
  const compose = parse(text) as Compose;
  const problems: string[] = [];
  for (const [name, { build, volumes = [], stop_grace_period: grace = "10s" }] of Object.entries(
    compose.services ?? {},
  )) {
    const dockerfile = join(root, "docker", build?.context ?? "", build?.dockerfile ?? "Dockerfile");
    if (!existsSync(dockerfile)) problems.push(`${name}: no Dockerfile at ${dockerfile}`);
    if (Number.parseInt(grace, 10) * 1000 <= drainMs) {
      problems.push(`${name}: stop_grace_period ${grace} is within shutdown.drain_ms`);
    }
    for (const volume of volumes) {
      const [source = ""] = volume.split(":");
      if (!source.startsWith(".") && !(source in (compose.volumes ?? {}))) {
        problems.push(`${name}: the volume ${source} isn't declared`);
      }
    }
  }
  return problems;
}

/** Directives that keep the agent's sandbox from working: no namespaces, or a /proc that is masked. */
const FATAL_TO_THE_SANDBOX = [
  "RestrictNamespaces",
  "ProtectProc",
  "ProcSubset",
  "ProtectKernelTunables",
  "ProtectKernelLogs",
  "PrivateUsers",
  "SystemCallFilter",
];

/** What is wrong with the unit beyond what systemd itself would say. */
export function unitProblems(unit: string, drainMs: number): readonly string[] {
  const settings = new Map<string, string>();
  for (const line of unit.split("\n")) {
    const match = /^(\w+)=(.*)$/.exec(line);
    if (match !== null) settings.set(match[1] ?? "", match[2] ?? "");
  }
  const problems = FATAL_TO_THE_SANDBOX.filter((name) => settings.has(name)).map(
    (name) => `${name} breaks the agent's sandbox`,
  );
  if (settings.get("KillMode") !== "mixed") {
    problems.push("KillMode isn't mixed: the daemon couldn't end its agents in order");
  }
  if (Number(settings.get("TimeoutStopSec")) * 1000 <= drainMs) {
    problems.push("TimeoutStopSec is within shutdown.drain_ms");
  }
  if ((settings.get("User") ?? "root") === "root") problems.push("the service runs as root");
  return problems;
}
