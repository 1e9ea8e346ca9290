/**
 * How quiet the default alerts are, and which faults they detect: `npm run bench:alerts`. A week of healthy simulated GPUs that
 * run training, serving and batch jobs, then hours with one fault of every kind, through the pipeline, the store, the anomaly
 * watch and the rule engine. Prints alerts per 100 GPU-days and, for each fault, the alert that detected it. Exits with 1 if the
 * limit is exceeded or a fault is missed.
 * `--days 1 --gpus 8` for less, `--seed 7` for other jobs, `--step 15` reads and evaluates every 15 s instead of every minute.
 * A rule over seconds has nothing to judge at a reading a minute: `--step 5 --group gpulse-power-spikes` evaluates that group of
 * rules alone, on GPUs without a fault.
 */
import { parseArgs } from "node:util";
import { mostAlerts, per100GpuDays, runFaults, runHealthy } from "./alerts-week.ts";
import type { Alarm } from "./detect-log.ts";
import { say } from "./hub-print.ts";

const { values: given } = parseArgs({
  options: {
    days: { type: "string", default: "7" },
    gpus: { type: "string", default: "16" },
    seed: { type: "string", default: "1" },
    step: { type: "string", default: "60" },
    group: { type: "string" },
  },
});
const [days, gpus, seed, step] = [given.days, given.gpus, given.seed, given.step].map(Number) as [
  number,
  number,
  number,
  number,
];
if (!(days > 0) || !(gpus > 0) || !Number.isInteger(seed) || !(step >= 1) || 60 % step !== 0) {
  process.stderr.write(
    "--days and --gpus take numbers above 0, --seed a whole number, --step a divisor of 60.\n",
  );
  process.exit(2);
}
const mix = ["MI300X", "RTX 4090", "RX 7800 XT", "H100"];
const hosts = Array.from({ length: Math.ceil(gpus / 8) }, (_, host) =>
  Array.from({ length: Math.min(8, gpus - host * 8) }, (__, gpu) =>
    host % 2 === 0 ? "H200" : (mix[gpu % mix.length] ?? "H200"),
  ),
);
const progress = (what: string, untilMs: number) => (doneMs: number, alarms: readonly Alarm[]) => {
  if (process.stderr.isTTY)
    process.stderr.write(`\r${what}: ${Math.round((100 * doneMs) / untilMs)} % `);
  else if (doneMs % (6 * 3_600_000) === 0)
    process.stderr.write(
      `${what}: ${doneMs / 3_600_000} of ${untilMs / 3_600_000} h, ${alarms.length} alerts\n`,
    );
};

const beganMs = Date.now();
say(
  `npm run bench:alerts -- --days ${days} --gpus ${gpus} --seed ${seed} --step ${step}${given.group === undefined ? "" : ` --group ${given.group}`}\n\n### Sound GPUs\n`,
);
const sound = await runHealthy({
  seed,
  hosts,
  days,
  stepMs: step * 1_000,
  group: given.group,
  progress: progress("sound GPUs", days * 86_400_000),
});
const rate = per100GpuDays(sound.alarms.length, sound.gpuDays);
say(`| | alerts | per 100 GPU-days | limit |\n|---|---|---|---|`);
say(
  `| all severities, ${sound.gpuDays} GPU-days | ${sound.alarms.length} | ${rate.toFixed(2)} | ${mostAlerts} |`,
);
for (const [name, count] of countNames(sound.alarms))
  say(`| ${name} | ${count} | ${per100GpuDays(count, sound.gpuDays).toFixed(2)} | |`);
for (const { name, says, firstMs } of sound.alarms.slice(0, 20))
  say(`- ${new Date(firstMs).toISOString()} ${name}: ${says}`);
for (const failed of sound.failedRules) say(`- rule failed: ${failed}`);
if (given.group !== undefined) process.exit(rate <= mostAlerts ? 0 : 1);

say(`\n### One fault of every kind\n`);
const sick = await runFaults({
  seed,
  hosts: [Array.from({ length: 8 }, () => "H200"), Array.from({ length: 4 }, () => "H200")],
  stepMs: Math.min(15, step) * 1_000,
  progress: progress("faults", 3.5 * 3_600_000),
});
say("| fault | found by | after |\n|---|---|---|");
for (const { fault, by, hidden, afterMs } of sick.faults)
  say(
    `| ${fault.fault} | ${by?.name ?? (hidden ? "not found: had nothing to show itself by" : "**not found**")} | ${afterMs === undefined ? "" : `${(afterMs / 60_000).toFixed(1)} min`} |`,
  );
say(`\nAlerts of GPUs without a fault: ${sick.false.length}`);
for (const { name, says } of sick.false) say(`- ${name}: ${says}`);
say(`Alerts that began on the GPU after it was lost: ${sick.afterLoss.length}`);
for (const { name, says } of sick.afterLoss) say(`- ${name}: ${says}`);
say(`\n${((Date.now() - beganMs) / 1_000).toFixed(0)} s`);
const isFound = sick.faults.every(({ by }) => by !== undefined);
process.exitCode = rate <= mostAlerts && isFound && sick.afterLoss.length === 0 ? 0 : 1;

function countNames(alarms: typeof sound.alarms): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { name } of alarms) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((left, right) => right[1] - left[1]);
}
