/**
 * Runs the fake with a seed board until it is stopped: `node test/fakes/linear/main.ts [port]`. Point `tracker.provider.endpoint`
 * at the address that it prints, and `tracker.provider.api_key` at the key.
 */
import { seedBoard } from "./seed.ts";
import { startLinearServer } from "./server.ts";

const DEFAULT_PORT = 4010;

const server = await startLinearServer({ port: Number(process.argv[2] ?? DEFAULT_PORT) });
seedBoard(server.board);
const lines = [
  `endpoint: ${server.url}`,
  `api_key: ${server.apiKey}`,
  "project_slug: demo",
  ...[...server.board.issues.values()].map((issue) => `${issue.identifier}  ${issue.title}`),
];
process.stdout.write(`${lines.join("\n")}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
