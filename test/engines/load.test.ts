// A client that occupies all the memory for request bodies it can get while agents push: it is rejected, the hub reports
// that, and the agents are not affected. The client stops at exact byte counts, so the outcome does not depend on speed.

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { LoadFleet, makeTokens } from "../../bench/load-fleet.ts";
import { gpusPerHost } from "../../bench/load-host.ts";
import { shedOf, valueOf } from "../../bench/load-watch.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

/** The limits in src/hub/receive: bytes of all bodies together, and of one. */
const mostBytes = 256 * 2 ** 20;
const bodyBytes = 16 * 2 ** 20;
/** Missing at the end of each body, so that the fleet's own requests fit while the hub is being filled. */
const slackBytes = 8_192;
const bodiesOfOne = mostBytes / 2 / bodyBytes;
const hosts = 12;
const busyMachineMs = 120_000;

const cleanups: (() => Promise<unknown>)[] = [];
let folder: string;
beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-load-test-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
}, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

interface Sending {
  readonly socket: Socket;
  /** The hub's response so far. */
  readonly answer: () => string;
}

/** Starts a request and sends this many bytes of its body, but never the rest. */
async function send(hub: RunningHub, from: string, token: string, bytes: number): Promise<Sending> {
  const { hostname, port } = new URL(hub.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  let reported = "";
  socket.setEncoding("latin1").on("data", (text: string) => (reported += text));
  socket.on("error", () => undefined);
  cleanups.push(async () => socket.destroy());
  await once(socket, "connect");
  socket.write(
    `POST /api/v1/write HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\nContent-Length: ${bytes + slackBytes}\r\n\r\n`,
  );
  let taken = false;
  socket.write(Buffer.alloc(bytes), () => (taken = true));
  await until("a body to be taken", () => taken || reported !== "");
  return { socket, answer: () => reported };
}

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
  void (await waitUntil({ what, timeoutMs: busyMachineMs }, async () =>
    (await holds()) ? true : undefined,
  ));

/** The response head for a request with a small body. */
async function asked(hub: RunningHub, from: string, token: string): Promise<string> {
  const { socket, answer } = await send(hub, from, token, 512 * 1_024);
  socket.write(Buffer.alloc(slackBytes));
  await until("an answer", () => answer().includes("\r\n\r\n"));
  socket.destroy();
  return answer().toLowerCase();
}

test(
  "a client that takes all the room it can get is refused, and agents beside it lose nothing and wait for nothing",
  { timeout: 400_000, retry: 0 },
  async (context) => {
    // On Linux each address of 127.0.0.0/8 is a separate client.
    if (process.platform !== "linux") context.skip("needs many loopback addresses");
    const dataDir = path.join(folder, "hub");
    const tokens = makeTokens(dataDir, hosts + 1);
    const token = tokens[hosts] ?? "";
    const hub = await startHub({ dataDir });
    cleanups.push(() => hub.stop());
    const fleet = new LoadFleet({
      hubUrl: hub.url,
      hosts,
      processes: 1,
      spoolDir: path.join(folder, "spool"),
      tokens,
      intervalMs: 500,
    });
    cleanups.push(() => fleet.stop());
    await fleet.ready();
    fleet.pace(500);
    await until("the fleet to be heard", () => fleet.now.sent > 10_000);
    expect(await shedOf(hub.url)).toMatchObject({ requests: 0 });

    // Two addresses with one token occupy as much as they can get.
    const held: Sending[] = [];
    for (const from of ["127.0.0.2", "127.0.0.3"])
      for (let body = 0; body < bodiesOfOne; body++)
        held.push(await send(hub, from, token, bodyBytes - slackBytes));
    const refused = held.filter(({ answer }) => answer() !== "");
    expect(refused.length).toBeGreaterThan(0);
    for (const { answer } of refused) expect(answer()).toMatch(/^HTTP\/1.1 429 /);

    const greedy = await asked(hub, "127.0.0.2", token);
    expect(greedy).toMatch(/^http\/1.1 429 /);
    expect(greedy).toContain("\r\nretry-after: 5\r\n");
    // A third address with the same token still has room: its request is read, and rejected only as an invalid write
    // request.
    expect(await asked(hub, "127.0.0.5", token)).toMatch(/^http\/1.1 400 /);
    expect((await shedOf(hub.url))["requests"]).toBeGreaterThan(0);
    const ready = await fetch(`${hub.url}/-/ready`);
    expect([ready.status, await ready.text()]).toEqual([
      200,
      expect.stringMatching(/overloaded: \d+ requests refused/),
    ]);
    await until("the log to say so", () => hub.process.output().includes("hub overloaded"));
    expect(await valueOf(hub.url, "count(gpu_power_watts)")).toBe(hosts * gpusPerHost);

    for (const { socket } of held) socket.destroy();
    fleet.pace(0);
    await fleet.settle(busyMachineMs);
    const { ticks, written, sent, refused: lost, dropped, retries } = fleet.now;
    const kept = await valueOf(hub.url, "sum(count_over_time(gpu_power_watts[1h]))");
    const line = `${written} samples read, ${sent} acknowledged, ${lost + dropped} lost, ${retries} retries after 429 or 503`;
    process.stderr.write(`a full hub: ${line}\n`);
    await context.annotate(line);
    expect({ sent, lost, dropped, kept, retries }).toEqual({
      sent: written,
      lost: 0,
      dropped: 0,
      kept: ticks * gpusPerHost,
      retries: 0,
    });
    expect(await asked(hub, "127.0.0.2", token)).toMatch(/^http\/1.1 400 /);
  },
);
