/** Simulates hours of a fleet in an embedded store, as a hub would have them, with the true state of every GPU. */
import { silentLog } from "../src/base/log.ts";
import { identityOf } from "../src/model/identity.ts";
import { openStore, type Store } from "../src/storage/embedded/store.ts";
import { Host, secondMs, startMs } from "./detect-host.ts";
import type { PlannedFault } from "./detect-plan.ts";

export interface FleetOptions {
  readonly dir: string;
  readonly seed: number;
  /** The simulator's model names, one list per host. */
  readonly hosts: readonly (readonly string[])[];
  readonly faults: readonly PlannedFault[];
  readonly untilMs: number;
  /** Time between two frames of a host. */
  readonly everyMs: number;
}

/** Every ten seconds, records whether each GPU is busy, and its job. For the score only. */
const noteEveryMs = 10_000;

export interface FleetRun {
  readonly store: Store;
  readonly uuids: readonly (readonly string[])[];
  readonly hostNames: readonly string[];
  /** Busy seconds of a GPU from one instant to another. */
  busySeconds(host: number, gpu: number, fromMs: number, toMs: number): number;
  /** How long its job had been running at an instant, not counting before `fromMs`. */
  jobSeconds(host: number, gpu: number, fromMs: number, atMs: number): number;
}

export async function simulateFleet(options: FleetOptions): Promise<FleetRun> {
  const { dir, seed, faults, untilMs, everyMs } = options;
  let nowMs = startMs;
  const store = await openStore({
    dir,
    retentionMs: 48 * 3_600_000,
    memoryBytes: 512 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
  });
  const hosts = options.hosts.map(
    (models, at) =>
      new Host(
        `host-${at + 1}`,
        models,
        seed + at * 7_919,
        faults.filter(({ host }) => host === at),
      ),
  );
  const notes = Math.ceil(untilMs / noteEveryMs);
  const busy = hosts.map(({ fleet }) => fleet.gpus.map(() => new Uint8Array(notes)));
  const jobs = hosts.map(({ fleet }) => fleet.gpus.map((): unknown[] => []));
  for (let elapsedMs = 0; elapsedMs < untilMs; elapsedMs += secondMs) {
    nowMs = startMs + elapsedMs;
    for (const [at, host] of hosts.entries()) {
      // The physics advances every step; a frame is read as often as an agent sends one.
      const frames = elapsedMs % everyMs === 0 ? host.at(elapsedMs) : [];
      for (const [tier, frame] of frames)
        await store.writeFrame({ frame, source: host.name, tier }, identityOf(host.name));
      if (elapsedMs % 15_000 === 0)
        await store.writeFrame(
          { frame: host.selfFrame(nowMs), source: `self/${host.name}`, tier: "self" },
          identityOf(host.name),
        );
      if (elapsedMs % noteEveryMs === 0)
        host.fleet.gpus.forEach((gpu, index) => {
          const note = elapsedMs / noteEveryMs;
          const ownBusy = busy[at]?.[index];
          if (ownBusy !== undefined) ownBusy[note] = gpu.state.utilization > 0.2 ? 1 : 0;
          jobs[at]?.[index]?.push(gpu.job);
        });
    }
    if (elapsedMs % 1_800_000 === 0) await store.maintain();
  }
  return {
    store,
    uuids: hosts.map(({ fleet }) => fleet.devices.map(({ uuid }) => uuid)),
    hostNames: hosts.map(({ name }) => name),
    busySeconds(host, gpu, fromMs, toMs) {
      const column = busy[host]?.[gpu];
      let sum = 0;
      for (let note = Math.ceil(fromMs / noteEveryMs); note * noteEveryMs < toMs; note++)
        sum += (column?.[note] ?? 0) * (noteEveryMs / 1_000);
      return sum;
    },
    jobSeconds(host, gpu, fromMs, atMs) {
      const column = jobs[host]?.[gpu] ?? [];
      const last = Math.floor(atMs / noteEveryMs);
      if (column[last] === undefined) return 0;
      let first = last;
      while (first > 0 && column[first - 1] === column[last] && first * noteEveryMs > fromMs)
        first--;
      return ((last - first) * noteEveryMs) / 1_000;
    },
  };
}
