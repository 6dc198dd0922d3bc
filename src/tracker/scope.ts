/** Which tickets a daemon reads, in words that are the same for two daemons exactly when their scope is. */
import { realpath } from "node:fs/promises";
import type { Settings } from "../domain/settings.ts";

/** Without secrets. Labels and assignees are left out: they narrow a scope, and two daemons may share one by them. */
export async function describeScope({ tracker }: Settings): Promise<string> {
  const { kind, provider } = tracker;
  if (kind === "local") {
    const path = String(provider["path"]);
    return `the board ${await realpath(path).catch(() => path)}`;
  }
  const { readProvider } = await import("./linear/provider.ts");
  const { endpoint, scope } = readProvider(provider);
  const parts = [
    scope.projectSlug === null ? [] : [`project ${scope.projectSlug}`],
    scope.team === null ? [] : [`team ${scope.team}`],
    scope.view === null ? [] : [`view ${scope.view}`],
    scope.labels.length === 0 ? [] : [`labels ${scope.labels.toSorted().join(" ")}`],
  ].flat();
  return `${parts.join(", ")} at ${endpoint}`;
}
