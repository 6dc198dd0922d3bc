/** Why an address can't be had, by the setting that gave it, with the mend. */
import { AppError, errorMessage } from "../domain/errors.ts";

/** Where it was to be listened: a socket file, or TCP. */
type Wanted = { readonly path: string } | { readonly host: string; readonly port: number };

/** AppError `invalid_workflow_config` for the system's error. */
export function listenFailure(wanted: Wanted, error: unknown): AppError {
  const address = "path" in wanted ? wanted.path : `${wanted.host}:${wanted.port}`;
  const message = "path" in wanted ? socketWords(wanted.path, error) : tcpWords(wanted, error);
  return new AppError("invalid_workflow_config", message, { address }, { cause: error });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

function socketWords(path: string, error: unknown): string {
  return `the control socket ${path} can't be made: ${errorMessage(error)}; choose another state.dir (--state-dir)`;
}

function tcpWords({ host, port }: { readonly host: string; readonly port: number }, error: unknown): string {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return `server.port (--port): ${port} is in use on ${host}; end what listens there, or choose another port (0 is any free one)`;
    case "EACCES":
      return `server.port (--port): ${port} may not be used by this user; choose one from 1024`;
    case "EADDRNOTAVAIL":
      return `server.host (--host): ${host} is no address of this machine; write 127.0.0.1, 0.0.0.0, or one of its own`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `server.host (--host): ${host} is a name that can't be resolved; write an address, such as 127.0.0.1`;
    default:
      return `server.port and server.host (--port, --host): can't listen on ${host}:${port}: ${errorMessage(error)}`;
  }
}
