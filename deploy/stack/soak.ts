// `npm run stack -- soak`: does anything grow, restart or miss a scrape? 32 hours at accelerated virtual time through a hub, and
// real minutes of the whole stack, in which the load goes through ten of its days.

import path from "node:path";
import { mkdir } from "node:fs/promises";

import { neededState } from "./place.ts";
import { allTargetsUp, say, withStack } from "./report.ts";
import { type RealVerdict, soakReal } from "./soak-real.ts";
import { soakVirtual, type VirtualVerdict } from "./soak-virtual.ts";
import type { StackOptions } from "./stack.ts";
import { megabytes } from "./table.ts";

const HOURS = 32;
const DAYS = 10;
/** The minimum that the load generator accepts. */
const SHORTEST_DAY_SECONDS = 10;

export interface SoakOptions extends Omit<StackOptions, "onChange" | "say" | "daySeconds"> {
  readonly minutes: number;
  readonly hours?: number;
  readonly stepSeconds: number;
  /** Use the running stack instead of starting one. */
  readonly running: boolean;
  readonly json: boolean;
}

export async function soak(options: SoakOptions): Promise<number> {
  const { minutes, hours = HOURS, stepSeconds } = options;
  const dataDir = path.resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true });
  say(`${hours} hours of virtual time through a hub, an instant every ${stepSeconds} s`);
  const virtual = await soakVirtual({
    dataDir,
    hours,
    stepSeconds,
    onHour: (hour, bytes) => {
      if (hour % 4 === 0) say(`  hour ${hour}: the hub takes ${megabytes(bytes)}`);
    },
  });
  // Ten days of load in the real-time part, so that daily variation is not a trend.
  const daySeconds = Math.max(SHORTEST_DAY_SECONDS, (minutes * 60) / DAYS);
  const days = Math.round((minutes * 60) / daySeconds);
  say(`${minutes} real minutes of the whole stack; the load goes through ${days} of its days`);
  const real = options.running
    ? await soakReal(neededState(dataDir), minutes)
    : await withStack({ ...options, dataDir, daySeconds }, async ({ state }) => {
        await allTargetsUp(state);
        return soakReal(state, minutes);
      });
  process.stdout.write(
    options.json ? `${JSON.stringify({ virtual, real })}\n` : text(virtual, real),
  );
  return virtual.problems.length + real.problems.length === 0 ? 0 : 1;
}

function text(virtual: VirtualVerdict, real: RealVerdict): string {
  const perHour = (value: number | undefined): string =>
    value === undefined ? "–" : `${value >= 0 ? "+" : ""}${(value / 1e6).toFixed(2)} MB/h`;
  const problems = [...virtual.problems, ...real.problems];
  return [
    `virtual: ${virtual.hours} h, ${virtual.samples.toLocaleString("en")} samples, ${virtual.keptPerGpu} of ${virtual.expectedPerGpu} instants kept, ${virtual.rules} rules,`,
    `         hub: ${megabytes(virtual.live?.median ?? 0)} in use (${perHour(virtual.live?.perHour)} of virtual time), ${megabytes(virtual.memory?.median ?? 0)} held by the process (${perHour(virtual.memory?.perHour)}), ${virtual.files?.median ?? "–"} files; a shorter retention left ${virtual.oldestHours?.toFixed(1) ?? "–"} h`,
    "",
    "process            restarts    memory      trend         files   trend",
    ...real.processes.map(({ name, restarts, memory, files, grows }) =>
      [
        name.padEnd(18),
        String(restarts).padStart(8),
        megabytes(memory?.median ?? 0).padStart(10),
        perHour(memory?.perHour).padStart(14),
        String(files?.median ?? "–").padStart(8),
        `${(files?.perHour ?? 0).toFixed(1)}/h`.padStart(9),
        grows ? "  grows" : "",
      ].join(" "),
    ),
    "",
    ...["prometheus", "hub"].map((engine) => {
      const of = real.scrapes.filter((one) => one.engine === engine);
      const sum = (pick: (one: (typeof of)[number]) => number): number =>
        of.reduce((all, one) => all + pick(one), 0);
      return `${engine}: ${sum((one) => one.taken)} scrapes of ${of.length} targets, ${sum((one) => one.due)} due, ${sum((one) => one.failed)} failed`;
    }),
    "",
    problems.length === 0
      ? "verdict: no restart, no leak, no missed scrape"
      : `verdict: ${problems.join("; ")}`,
    "",
  ].join("\n");
}
