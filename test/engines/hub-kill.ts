// Kills the hub over and over while writers load it and blocks are sealed and merged, then judges every sample.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { random } from "../../bench/store-data.ts";
import { launchHub, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { judge, startLoad } from "./hub-load.ts";

const WRITERS = 3;
/** A start takes about 200 ms, so a part of the kills falls into it. */
const SHORTEST_MS = 20;
const LONGEST_MS = 900;

export interface KillReport {
  readonly kills: number;
  readonly whileStarting: number;
  readonly samples: number;
}

export async function killTheHub(kills: number, seed: number): Promise<KillReport> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-hub-kill-"));
  const kept = { dataDir: path.join(folder, "data"), port: await freePort() };
  const url = `http://127.0.0.1:${kept.port}`;
  const next = random(seed);
  const load = startLoad(url, WRITERS);
  const upkeep = startUpkeep(url, path.join(kept.dataDir, "snapshots"));
  let hub = await startHub(kept);
  let whileStarting = 0;
  try {
    for (let kill = 0; kill < kills; kill++) {
      await sleep(SHORTEST_MS + next() * (LONGEST_MS - SHORTEST_MS));
      if (!/is up/.test(hub.process.output())) whileStarting++;
      expect(hub.process.exited(), hub.process.output()).toBeUndefined();
      await hub.kill();
      hub = await launchHub(kept);
    }
    await hub.ready();
    await upkeep.stop();
    await load.stop();
    expect(Math.min(...load.acknowledged)).toBeGreaterThan(kills);
    const before = await judge(url, load.acknowledged);
    await hub.kill();
    hub = await startHub(kept);
    expect(hub.process.output()).not.toMatch(/lost/);
    expect(await judge(url, load.acknowledged)).toBe(before);
    return { kills, whileStarting, samples: before };
  } finally {
    await hub.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Has the head sealed and blocks merged all the time: a snapshot seals first. */
function startUpkeep(url: string, snapshots: string): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      for (const work of ["snapshot", "clean_tombstones"]) {
        // Where the hub is down there is nothing to seal.
        await fetch(`${url}/api/v1/admin/tsdb/${work}`, { method: "POST" }).catch(() => undefined);
      }
      await rm(snapshots, { recursive: true, force: true });
      await sleep(100);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
