import { once } from "node:events";
import { Agent, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { boundConnections, connectionsFor } from "./connections.ts";

test.for([
  [1_048_576, 20_000],
  [Infinity, 20_000],
  [4_096, 3_096],
  [1_024, 500],
] as const)("of %i files %i may be connections", ([files, connections]) => {
  expect(connectionsFor(files)).toBe(connections);
});

test("beyond the bound idle connections make room: everybody is served in the end", async () => {
  const server = createServer((_request, answer) => answer.end("ok"));
  let dropped = 0;
  boundConnections(server, { most: 3, dropped: () => dropped++ });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true }));
  const ask = (agent: Agent): Promise<boolean> =>
    new Promise((resolve) => {
      get(url, { agent }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve(true));
      }).on("error", () => resolve(false));
    });
  for (const agent of agents)
    await expect.poll(() => ask(agent), { interval: 50, timeout: 10_000 }).toBe(true);
  expect(dropped).toBeGreaterThan(0);
  for (const agent of agents) agent.destroy();
  server.close();
});
