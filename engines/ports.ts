// Returns a loopback port that is free at the moment. If a program can choose its own port (`--port 0`), prefer that, since
// another process may take this one before it is used.

import { once } from "node:events";
import { createServer } from "node:net";
import { systemCode } from "../src/base/error.ts";

/**
 * Below the ephemeral ports that the system assigns to connections and to `listen(0)`: those may take a port while a program
 * restarts.
 */
const lowest = 10_000;
const highest = 32_000;
const attempts = 100;

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found between ${lowest} and ${highest}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (thrown) {
    if (systemCode(thrown) === "EADDRINUSE" || systemCode(thrown) === "EACCES") return false;
    throw thrown;
  }
  server.close();
  await once(server, "close");
  return true;
}
