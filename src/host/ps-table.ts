/** Processes as `ps` shows them, where there is no /proc. */
import { execa } from "execa";
import type { ProcessList, ProcessRow, ProcessTable } from "./process-table.ts";
import { shareLooks } from "./share-looks.ts";

const ARGUMENTS = ["-A", "-o", "pid=,ppid=,pgid=,state=,lstart="];

function parseLine(line: string): readonly ProcessRow[] {
  const [pid, parent, group, state, ...started] = line.trim().split(/\s+/);
  if (pid === undefined || state === undefined) return [];
  return [
    {
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: 0,
      startTime: started.join(" "),
      zombie: state.startsWith("Z"),
      kernel: false,
    },
  ];
}

async function listProcesses(): Promise<ProcessList> {
  const { stdout } = await execa("ps", ARGUMENTS, { env: { LC_ALL: "C" }, stdin: "ignore" });
  return { rows: stdout.split("\n").flatMap(parseLine), settled: true, carries: () => false };
}

/** Start times have a resolution of one second, and environments stay unseen: descendants and the group are all there is. */
export function createPsTable(): ProcessTable {
  const list = shareLooks(listProcesses);
  return {
    list,
    read: async (pid) => (await list()).rows.find((row) => row.pid === pid) ?? null,
    startedSince: () => true,
  };
}
