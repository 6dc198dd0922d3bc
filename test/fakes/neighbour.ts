/** A process that is a daemon's neighbour until it is killed. Arguments: runtime directory, ledger id, scope. */
import { pino } from "pino";
import { meetNeighbours } from "../../src/ledger/neighbours.ts";

const [runtime = "", ledgerId = "", scope = ""] = process.argv.slice(2);
meetNeighbours({ env: { XDG_RUNTIME_DIR: runtime }, ledgerId, scope, log: pino({ level: "silent" }) });
process.stdout.write("there\n");
process.stdin.resume();
process.stdin.once("end", () => process.kill(process.pid, "SIGKILL"));
