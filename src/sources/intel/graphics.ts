/** Clocks, idle time and throttling of an Intel GPU's parts. */
import { gpu } from "../../model/catalogue/index.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { readSensor, readText } from "../../machine/sysfs/read.ts";
import {
  failed,
  mapReadResult,
  present,
  type ReadResult,
  unsupported,
} from "../../machine/sysfs/read-result.ts";
import { type CardChannel, oncePerTick } from "../cards.ts";
import type { GraphicsPart, ThrottleFiles } from "./parts.ts";
import { intelReasons, parseReasons, reasonOf } from "./throttle.ts";

const domains = ["graphics", "media"] as const;

/** Several tiles belong to one GPU: the fastest counts. A part in its idle state has its clock off and reports 0. */
export function clockChannels(
  parts: readonly GraphicsPart[],
  fileAccess: FileAccess,
): readonly CardChannel[] {
  return domains.flatMap((domain) => {
    const own = parts.filter((part) => part.domain === domain);
    if (own.length === 0) return [];
    const labels = { domain };
    return [
      {
        metric: gpu.clock,
        labels,
        read: () =>
          fastest(
            own.map(({ clock }) => clock),
            fileAccess,
          ),
      },
      {
        metric: gpu.clockMax,
        labels,
        read: () =>
          fastest(
            own.map(({ highestClock }) => highestClock),
            fileAccess,
          ),
      },
    ];
  });
}

async function fastest(
  files: readonly string[],
  fileAccess: FileAccess,
): Promise<ReadResult<number>> {
  const readings = await Promise.all(files.map((file) => readSensor(file, fileAccess)));
  return mapReadResult(
    readings.reduce((best, next) =>
      next.ok && (!best.ok || next.value > best.value) ? next : best,
    ),
    (megahertz) => megahertz * 1e6,
  );
}

/** The awake share of the least idle part: the time outside the deepest idle state is an upper bound of its work. */
export function awakeChannels(
  parts: readonly GraphicsPart[],
  fileAccess: FileAccess,
  differences: CounterRates,
): readonly CardChannel[] {
  const files = parts.flatMap(({ idleMs }) => idleMs ?? []);
  if (files.length === 0) return [];
  const counters = files.map((file) => ({ file, idle: differences.of(file) }));
  const read: CardChannel["read"] = async (timeMs) => {
    const shares = await Promise.all(
      counters.map(async ({ file, idle }) => {
        const milliseconds = await readSensor(file, fileAccess);
        return milliseconds.ok
          ? mapReadResult(idle.perSecond(timeMs, milliseconds.value), awakeShare)
          : milliseconds;
      }),
    );
    return shares.reduce((most, next) =>
      next.ok && (!most.ok || next.value > most.value) ? next : most,
    );
  };
  return [{ metric: gpu.awake, read }];
}

/** From idle milliseconds per second; the counter and the clock are not read at the same instant, so it may slightly exceed 1000. */
const awakeShare = (idleMsPerSecond: number): number =>
  Math.min(1, Math.max(0, 1 - idleMsPerSecond / 1_000));

export function throttleChannels(
  parts: readonly GraphicsPart[],
  fileAccess: FileAccess,
): readonly CardChannel[] {
  const files = parts.flatMap(({ throttle }) => throttle ?? []);
  if (files.length === 0) return [];
  const active = oncePerTick(async () =>
    mergeActive(await Promise.all(files.map((file) => readActive(file, fileAccess)))),
  );
  const reportable = new Set(files.flatMap(({ single }) => [...single.keys()].map(reasonOf)));
  return intelReasons
    .filter((reason) => reportable.has(reason))
    .map((reason) => ({
      metric: gpu.throttleActive,
      labels: { reason },
      read: async (timeMs) =>
        mapReadResult(await active(timeMs), (names) => (names.has(reason) ? 1 : 0)),
    }));
}

/** Reads one file if the kernel has the list; otherwise the status, and the file of each reason only if the status is set. */
async function readActive(
  files: ThrottleFiles,
  fileAccess: FileAccess,
): Promise<ReadResult<ReadonlySet<string>>> {
  if (files.list !== undefined) {
    return mapReadResult(await readText(files.list, 4_096, fileAccess), parseReasons);
  }
  const status =
    files.status === undefined ? unsupported : await readSensor(files.status, fileAccess);
  if (status.ok && status.value === 0) return present(new Set());
  const names = new Set<string>();
  for (const [name, file] of files.single) {
    const flag = await readSensor(file, fileAccess);
    if (!flag.ok) return flag;
    const reason = reasonOf(name);
    if (flag.value !== 0 && reason !== undefined) names.add(reason);
  }
  return present(names);
}

function mergeActive(
  readings: readonly ReadResult<ReadonlySet<string>>[],
): ReadResult<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const reading of readings) {
    if (!reading.ok) return reading;
    for (const name of reading.value) names.add(name);
  }
  return present(names);
}

/** Growth of a counter per second. A second read in the same tick returns the same result; the first read has nothing to compare with. */
export class CounterRate {
  #last: { readonly timeMs: number; readonly count: number } | undefined;
  #rate: { readonly timeMs: number; readonly perSecond: ReadResult<number> } | undefined;

  /** A decreasing counter was reset, so that interval has no rate. */
  perSecond(timeMs: number, count: number): ReadResult<number> {
    if (this.#rate?.timeMs === timeMs) return this.#rate.perSecond;
    const last = this.#last;
    const isUsable = last !== undefined && timeMs > last.timeMs && count >= last.count;
    const perSecond: ReadResult<number> = isUsable
      ? present(((count - last.count) * 1_000) / (timeMs - last.timeMs))
      : failed;
    this.#last = { timeMs, count };
    this.#rate = { timeMs, perSecond };
    return perSecond;
  }
}

/** The counters of one card by name. They outlive the channels, which are discovered again every minute. */
export class CounterRates {
  readonly #byName = new Map<string, CounterRate>();

  of(name: string): CounterRate {
    const known = this.#byName.get(name) ?? new CounterRate();
    this.#byName.set(name, known);
    return known;
  }
}
