/** A process that simulates many machines, each pushing to several hubs as an agent does. Started by jobs-hub.ts. */
import { once } from "node:events";
import { systemClock } from "../src/base/clock.ts";
import { silentLog } from "../src/base/log.ts";
import { tierIntervals } from "../src/pipeline/poller.ts";
import { openHubSink } from "../src/sinks/hub/open.ts";
import { Emitter } from "../src/sources/sim/emit/emitter.ts";
import { SimFleet } from "../src/sources/sim/fleet/fleet.ts";
import { loadScenario } from "../src/sources/sim/scenario/load.ts";
import { random } from "./store-data.ts";

export interface JobsSenderSpec {
  readonly hubUrls: readonly string[];
  readonly machines: number;
  readonly gpusPerMachine: number;
  readonly spoolDir: string;
}

const [spec] = (await once(process, "message")) as [JobsSenderSpec];
// Must not outlive its parent.
process.on("disconnect", () => process.exit(0));

const intervalMs = 1_000;
const every = tierIntervals(intervalMs);
const tiers = ["static", "slow", "fast"] as const;
const scenario = loadScenario("default");
const next = random(1);
const sent = Array.from({ length: spec.machines }, () => 0);
const startMs = Math.ceil(Date.now() / intervalMs) * intervalMs;
for (let at = 0; at < spec.machines; at++) startMachine(at);
/** Seconds sent by every machine: on a loaded computer they pass more slowly. */
setInterval(() => process.send?.(Math.min(...sent)), 250);

/** Each machine sends at its own offset within the second, as agents with different start times do. */
function startMachine(at: number): void {
  const host = `node${at}`;
  const beganMs = startMs + next() * intervalMs;
  const options = { seed: at + 1, owner: host, gpus: spec.gpusPerMachine, model: undefined };
  const fleet = new SimFleet(scenario, options, beganMs);
  const emitter = new Emitter(fleet, host);
  const sinks = spec.hubUrls.map((url) =>
    openHubSink(
      { url, intervalMs, spoolMaxBytes: 64 * 2 ** 20, spoolAgeMs: 3_600_000 },
      {
        log: silentLog,
        clock: systemClock,
        random: next,
        hostName: host,
        spoolDir: spec.spoolDir,
        version: "1.0.0",
        identity: { job: "gpulse", instance: `${host}:9400` },
      },
    ),
  );
  let second = 0;
  const step = async (): Promise<void> => {
    const virtualMs = second * intervalMs;
    const timeMs = Math.round(beganMs + virtualMs);
    fleet.advanceTo(virtualMs);
    for (const tier of tiers) {
      if (virtualMs % every[tier] !== 0) continue;
      const frame = emitter.frame(tier, timeMs, (ms) => ms);
      const delivery = {
        frame,
        source: host,
        tier,
        freshForMs: 5 * intervalMs,
        devices: fleet.devices,
      };
      for (const sink of sinks) await sink.write(delivery);
    }
    sent[at] = ++second;
    setTimeout(() => void step(), Math.max(0, beganMs + second * intervalMs - Date.now()));
  };
  setTimeout(() => void step(), Math.max(0, beganMs - Date.now()));
}
