import { once } from "node:events";
import { Agent, createServer, get } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { limitAddresses, limitConnections, maxConnectionsFor } from "./connections.ts";

test.for([
  [1_048_576, 20_000],
  [Infinity, 20_000],
  [4_096, 3_096],
  [1_024, 500],
] as const)("of %i files %i may be connections", ([files, connections]) => {
  expect(maxConnectionsFor(files)).toBe(connections);
});

test("beyond the bound idle connections make room: everybody is served in the end", async () => {
  const server = createServer((_request, answer) => answer.end("ok"));
  let dropped = 0;
  limitConnections(server, { most: 3, dropped: () => dropped++ });
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

test("an address beyond its share is rejected and reported once, others and this machine are not", async () => {
  const server = createServer();
  const reported: unknown[] = [];
  let [dropped, nowMs] = [0, 0];
  limitAddresses(server, {
    perAddress: 2,
    log: { ...silentLog, warn: (_sentence, about) => void reported.push(about) },
    nowMs: () => nowMs,
    dropped: () => dropped++,
  });
  const come = (address: string): Socket => {
    // Only loopback is available to the test, and it is exempt: the remote address is made up.
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: address });
    server.emit("connection", socket);
    return socket;
  };
  const leave = (socket: Socket): Promise<unknown> => {
    const closed = once(socket, "close");
    socket.destroy();
    return closed;
  };
  const held = come("10.0.0.1");
  expect([held, come("::ffff:10.0.0.1")].map(({ destroyed }) => destroyed)).toEqual([false, false]);
  expect([come("10.0.0.1"), come("10.0.0.1")].every(({ destroyed }) => destroyed)).toBe(true);
  expect([dropped, reported]).toEqual([2, [{ address: "10.0.0.1", connections: 2 }]]);
  for (const here of ["10.0.0.2", ...Array<string>(5).fill("127.0.0.1"), "::1", "::1", "::1"])
    expect(come(here).destroyed).toBe(false);
  // An IPv6 customer has all addresses of a network.
  expect(["2001:db8::1", "2001:db8::2", "2001:db8::3"].map((one) => come(one).destroyed)).toEqual([
    false,
    false,
    true,
  ]);
  nowMs = 60_000;
  await leave(held);
  expect([come("10.0.0.1").destroyed, come("10.0.0.1").destroyed]).toEqual([false, true]);
  expect([dropped, reported.length]).toEqual([4, 2]);
});
