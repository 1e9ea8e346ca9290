// Concurrent requests to a hub, large enough for the ingest workers, with repeated kills: every acknowledged sample is
// stored once, with the workers and without.

import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { WriteRequests } from "../../bench/remote-write.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { labelSet } from "../../src/model/labels.ts";

const senders = 4;
/** About 60 kB decompressed: the hub's main thread decodes bodies up to 32 KiB. */
const seriesEach = 500;
const stepMs = 1_000;
const kills = 3;

const valueOf = (sender: number, batch: number, one: number): number =>
  sender * 1e7 + batch * 1e4 + one;

/** Sends batches, each until it is acknowledged, while `goesOn` of their number; returns the number of acknowledged ones. */
async function sendWhile(
  url: string,
  sender: number,
  startMs: number,
  goesOn: (acknowledged: number) => boolean,
): Promise<number> {
  const labels = Array.from({ length: seriesEach }, (_, one) =>
    labelSet({
      __name__: "pool_test",
      sender: String(sender),
      one: String(one),
      pad: "x".repeat(40),
    }),
  );
  const requests = new WriteRequests(labels);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let batch = 0;
  while (goesOn(batch)) {
    const body = requests.encode(0, seriesEach, [startMs + batch * stepMs], (one) =>
      valueOf(sender, batch, one),
    );
    if (await isAcknowledged(url, agent, body)) batch++;
    else await sleep(20);
  }
  agent.destroy();
  return batch;
}

function isAcknowledged(url: string, agent: Agent, body: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/x-protobuf", "content-encoding": "snappy" };
    const sending = request(`${url}/api/v1/write`, {
      agent,
      method: "POST",
      headers,
      timeout: 5_000,
    });
    sending.on("error", () => resolve(false));
    sending.on("timeout", () => sending.destroy());
    sending.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 204));
      response.on("error", () => resolve(false));
    });
    sending.end(body);
  });
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

async function stored(hub: RunningHub, sender: number, toMs: number): Promise<readonly Series[]> {
  const query = new URLSearchParams({
    query: `pool_test{sender="${sender}"}[1d]`,
    time: String(toMs / 1_000),
  });
  const response = await fetch(`${hub.url}/api/v1/query?${query.toString()}`);
  const { data } = (await response.json()) as { data: { result: readonly Series[] } };
  return data.result;
}

test.each([0, 2])(
  "kills lose and repeat nothing with %d ingest workers",
  async (workers) => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-ingest-workers-"));
    const options = { dataDir, port: await freePort(), args: [`--ingest-workers=${workers}`] };
    let hub = await startHub(options);
    try {
      const startMs = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000;
      let over = false;
      const sending = Array.from({ length: senders }, (_, sender) =>
        // A busy machine has fewer batches acknowledged between kills.
        sendWhile(hub.url, sender, startMs, (acknowledged) => !over || acknowledged <= kills),
      );
      for (let kill = 0; kill < kills; kill++) {
        await sleep(1_500);
        await hub.kill();
        hub = await startHub(options);
      }
      await sleep(1_000);
      over = true;
      const acknowledged = await Promise.all(sending);
      for (const [sender, batches] of acknowledged.entries()) {
        expect(batches).toBeGreaterThan(kills);
        const found = await stored(hub, sender, startMs + 3_600_000);
        expect(found.length).toBe(seriesEach);
        for (const { metric, values } of found) {
          const own = values
            .slice(0, batches)
            .map(([seconds, value]) => [seconds * 1_000, Number(value)]);
          expect(own).toEqual(
            Array.from({ length: batches }, (_, batch) => [
              startMs + batch * stepMs,
              valueOf(sender, batch, Number(metric["one"])),
            ]),
          );
          // At most one more: a batch whose acknowledgement was lost.
          expect(values.length).toBeLessThanOrEqual(batches + 1);
        }
      }
    } finally {
      await hub.kill();
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
  120_000,
);
