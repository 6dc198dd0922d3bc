/** What a person reads whose address can't be had. */
import { expect, it } from "vitest";
import { listenFailure } from "./listen-failure.ts";

it.each([
  ["EADDRINUSE", "server.port (--port): 80 is in use on 1.2.3.4; end what listens there, or choose another port"],
  ["EACCES", "server.port (--port): 80 may not be used by this user; choose one from 1024"],
  ["EADDRNOTAVAIL", "server.host (--host): 1.2.3.4 is no address of this machine"],
  ["ENOTFOUND", "server.host (--host): 1.2.3.4 is a name that can't be resolved"],
  ["EWEIRD", "server.port and server.host (--port, --host): can't listen on 1.2.3.4:80: listen EWEIRD"],
])("says what %s means", (code, says) => {
  const error = Object.assign(new Error(`listen ${code}`), { code });
  expect(listenFailure({ host: "1.2.3.4", port: 80 }, error).message).toContain(says);
});
