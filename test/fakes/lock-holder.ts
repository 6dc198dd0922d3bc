/** A process that takes the daemon's locks, says so, and holds them until it is killed. Arguments: state directory, workflow. */
import { isAppError } from "../../src/domain/errors.ts";
import { lockDaemon } from "../../src/ledger/lock.ts";
import { stateFiles } from "../../src/ledger/state-files.ts";

const [stateDir = "", workflow = ""] = process.argv.slice(2);
try {
  lockDaemon(stateFiles(stateDir), workflow);
  process.stdout.write("locked\n");
  // Nothing refers to the lock: it must outlive a garbage collection all the same.
  globalThis.gc?.();
  process.stdin.resume();
  process.stdin.once("end", () => process.kill(process.pid, "SIGKILL"));
} catch (error) {
  process.stdout.write(`${isAppError(error) ? error.code : "?"}\n`);
}
