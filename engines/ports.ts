// A loopback port that nobody listens on at this moment. Where a program can choose its own port (`--port 0`) that
// is better, since another process may take this one before it is used.

import { once } from "node:events";
import { createServer } from "node:net";

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  server.close();
  await once(server, "close");
  return address.port;
}
