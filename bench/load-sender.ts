/**
 * A process that simulates many hosts: receives the rate over its channel and reports its progress once a second. Started by
 * load-fleet.ts.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { readTemplate, SimulatedHost } from "./load-host.ts";
import type { SenderSpec } from "./load-fleet.ts";
import { noReport } from "./load-report.ts";
import { random } from "./store-data.ts";

const [{ spec }] = (await once(process, "message")) as [{ readonly spec: SenderSpec }];
const template = await readTemplate();
const next = random(spec.from + 1);
const hosts = Array.from(
  { length: spec.to - spec.from },
  (_, at) =>
    new SimulatedHost(template, {
      name: `${spec.prefix}-${spec.from + at}`,
      hubUrl: spec.hubUrl,
      token: spec.tokens[at],
      spoolDir: spec.spoolDir,
      intervalMs: spec.intervalMs,
      random: next,
    }),
);

let intervalMs = 0;
/** Incremented with every new pace: hosts that follow an older one stop. */
let pace = 0;
// Must not outlive its parent.
process.on("disconnect", () => process.exit(0));
process.on("message", (message: { pace?: number; stop?: boolean }) => {
  if (message.pace !== undefined) {
    intervalMs = message.pace;
    pace++;
    for (const host of hosts) void run(host, pace);
  }
  if (message.stop === true) void stop();
});
setInterval(report, 500);
report();

/** Each host sends at its own offset within the interval, as agents with different start times do. */
async function run(host: SimulatedHost, own: number): Promise<void> {
  const current = (): boolean => own === pace && intervalMs > 0;
  const beganMs = performance.now() + next() * intervalMs;
  for (let tick = 0; current(); tick++) {
    const early = beganMs + tick * intervalMs - performance.now();
    await sleep(Math.max(0, early));
    if (current()) await host.tick(Date.now());
  }
}

function report(): void {
  const reported = { ...noReport(), hosts: hosts.length };
  for (const { ticks, written, shipping } of hosts) {
    const { ship, spool } = shipping;
    reported.ticks += ticks;
    reported.written += written;
    reported.sent += ship.sentSamples;
    reported.refused += ship.refusedSamples;
    reported.waiting += spool.records;
    reported.retries += ship.retries;
    reported.lagSeconds = Math.max(reported.lagSeconds, ship.lagSeconds);
    for (const { samples } of Object.values(spool.dropped)) reported.dropped += samples;
    if (ship.problem !== undefined)
      reported.problems[ship.problem] = (reported.problems[ship.problem] ?? 0) + 1;
  }
  process.send?.(reported);
}

async function stop(): Promise<void> {
  intervalMs = 0;
  await Promise.all(hosts.map((host) => host.close()));
  process.disconnect();
  process.exit(0);
}
