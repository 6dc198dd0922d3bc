/** The commands for setting a daemon up: `init` writes a workflow file, `doctor` looks whether all is there that it needs. */
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { Option, type Command } from "commander";
import { nearestOptions } from "./options.ts";

export function addSetup(program: Command, done: (exitCode: number) => void): void {
  addInit(program, done);
  addDoctor(program, done);
}

function addInit(program: Command, done: (exitCode: number) => void): void {
  program
    .command("init")
    .description("write a WORKFLOW.md: a few questions, or a flag for each")
    .argument("[file]", "where to", "./WORKFLOW.md")
    .addOption(new Option("--tracker <kind>", "where the tickets are").choices(["local", "linear"]))
    .option("--project <slug>", "the Linear project: the last part of its address")
    .option("--repository <address>", "as git clone takes it (default: that of this folder)")
    .addOption(
      new Option("--endpoint <url>", "of a Linear that is not Linear's own")
        .default("https://api.linear.app/graphql")
        .hideHelp(),
    )
    .action(
      async (
        file: string,
        given: { tracker?: "local" | "linear"; project?: string; repository?: string; endpoint: string },
      ) => {
        const { init } = await import("./init/init.ts");
        const { tracker = null, project = null, repository = null, endpoint } = given;
        const person = process.stdin.isTTY ? createInterface({ input: process.stdin, output: process.stderr }) : null;
        try {
          const ask = person === null ? null : (question: string) => person.question(question);
          done(await init({ file, tracker, project, repository, endpoint, env: process.env, ask }));
        } finally {
          person?.close();
        }
      },
    );
}

function addDoctor(program: Command, done: (exitCode: number) => void): void {
  program
    .command("doctor")
    .description("is everything there that a daemon needs? Each finding with its mend; 1 when something fails")
    .argument("[workflow]", "the workflow file", "./WORKFLOW.md")
    .option("--state-dir <dir>", "the state directory, whatever the workflow says")
    .option("--json", "one JSON value and nothing else")
    .action(async (workflow: string, _options, command: Command) => {
      const { stateDir = null, json = false } = nearestOptions(command);
      const { doctor } = await import("./doctor/doctor.ts");
      done(await doctor({ workflow: resolve(workflow), stateDir, json, env: process.env }));
    });
}
