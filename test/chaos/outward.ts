// A remote store that goes down and returns while a hub sends everything to it: no sample that the hub acknowledged is
// missing there. Delivery is at least once; the store is configured to deduplicate, as in the guide, and then has each
// sample once.

import { expect } from "vitest";

import type { RunningVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { batchMs } from "../store/batches.ts";
import { type Chaos, flawless, flaws, type SampleVerdict } from "./counts.ts";
import { type ChaosLab, openChaosLab } from "./fleet.ts";
import { backToLevel, levelOf } from "./level.ts";
import { verifyAll } from "./storm.ts";
import { SERIES, valueOf } from "./writer.ts";

const PATIENCE_MS = 120_000;

export async function runStoreOutage(
  chaos: Chaos,
  store: RunningVictoriaMetrics,
  rounds: number,
): Promise<void> {
  const to = `--to=remote-write+${store.url}/api/v1/write`;
  const lab = await openChaosLab({ agents: 1, hubArgs: [to] });
  try {
    await lab.flowing();
    const before = levelOf(lab.hub.process.pid);
    for (let round = 0; round < rounds; round++) {
      await store.whileAway(async () => {
        await lab.flowing();
        await lab.hub.kill();
        await lab.ready();
        await lab.flowing();
      });
      chaos.fault("remote store down, the hub killed meanwhile");
      await store.restart();
      chaos.fault("restart of the remote store");
      await lab.flowing();
    }
    await lab.calm();
    await backToLevel("the hub", lab.hub.process.pid, before);
    await verifyAll(lab, chaos);
    let there: SampleVerdict | undefined;
    await waitUntil(
      { what: "everything in the store elsewhere", timeoutMs: PATIENCE_MS },
      async () => {
        there = await verifyRemoteStore(store.url, lab);
        if (there.lost === 0) return true;
        throw new Error(`${there.lost} samples are not there`);
      },
    );
    if (there !== undefined) expect(flaws(chaos.judged(there))).toEqual(flawless);
  } finally {
    await lab.close();
  }
}

/** VictoriaMetrics stores about fifteen decimal digits instead of the 64 bits; the values here differ by more than that. */
const isNear = (value: number | undefined, wanted: number): boolean =>
  Math.abs((value ?? Number.NaN) - wanted) < 1e-11;

interface Exported {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly number[];
  readonly timestamps: readonly number[];
}

/** Compares the store's exported raw samples with the acknowledged ones. */
async function verifyRemoteStore(url: string, { writer }: ChaosLab): Promise<SampleVerdict> {
  const query = new URLSearchParams({ "match[]": "chaos_written", start: "0" });
  const answer = await fetch(`${url}/api/v1/export?${query.toString()}`);
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  const batches = writer.acknowledged();
  let [right, duplicated, wrong, unexplained] = [0, 0, 0, 0];
  for (const { metric, values, timestamps } of lines.map((line) => JSON.parse(line) as Exported)) {
    const seen = new Set<number>();
    for (const [at, timeMs] of timestamps.entries()) {
      const batch = (timeMs - batchMs(0)) / 1_000;
      if (seen.has(batch)) duplicated++;
      else if (batch < 0 || batch >= batches) unexplained++;
      else if (isNear(values[at], valueOf(batch, Number(metric["series"])))) right++;
      else wrong++;
      seen.add(batch);
    }
  }
  const acknowledged = batches * SERIES;
  return { acknowledged, lost: acknowledged - right - wrong, duplicated, wrong, unexplained };
}
