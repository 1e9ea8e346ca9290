/** Now, least, mean and most over the range. What is absent says why, and every figure its age and source. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { toColumnQuantity } from "../../format/quantity.ts";
import { toReadableQuantity } from "../../format/readable.ts";
import { fleet, hubTimeMs, feedDelayMs } from "../../live/feed.ts";
import {
  type Gpu,
  memoryTotal,
  powerLimit,
  read,
  temperatureRatio,
} from "../../../../src/view/gpu.ts";
import { useInstant, useNow } from "../../query/use-fetch.ts";
import { Absent, Bar } from "../../ui/value.tsx";
import { formatRange } from "../../view-state/range.ts";
import { following, range, rangeMs, timeWindow } from "../../view-state/time.ts";
import {
  byReading,
  type GpuReadingSpec,
  queryAll,
  readings,
  type Statistic,
  statistics,
} from "./readings.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";

/** The statistics read every sample of the range: no more often than they could look different. */
const everyMs = (lengthMs: number): number =>
  Math.max(5_000, Math.ceil(lengthMs / 240 / 1_000) * 1_000);
const NOW_EVERY_MS = 5_000;

export function ReadingsTable({ gpu, reported }: { gpu: Gpu; reported: ReadonlySet<string> }) {
  const who = matchersOf(gpu.device);
  const { toMs } = timeWindow.value;
  const atMs = following.value ? stepped(toMs, everyMs(rangeMs.value)) : toMs;
  const over = `${Math.max(1, Math.round(rangeMs.value / 1_000))}s`;
  const found: RangeStatistics = {
    min: byReading(useInstant(queryAll(who, reported, ["min", over]), atMs).value?.samples),
    avg: byReading(useInstant(queryAll(who, reported, ["avg", over]), atMs).value?.samples),
    max: byReading(useInstant(queryAll(who, reported, ["max", over]), atMs).value?.samples),
  };
  const newest = useNow(queryAll(who, reported), NOW_EVERY_MS).value;
  const now = byReading(newest?.samples);
  const shown = readings.filter(({ metric, live }) => reported.has(metric) || live !== undefined);
  const half = Math.ceil(shown.length / 2);
  return (
    <section class="gpu-now" aria-labelledby="gpu-now">
      <h3 id="gpu-now">
        Readings <span class="unit">now, and over {formatRange(range.value).toLowerCase()}</span>
      </h3>
      <div class="readings">
        {[shown.slice(0, half), shown.slice(half)].map((part, at) => (
          <table key={at}>
            <caption class="unseen">{at === 0 ? "Readings" : "More readings"}</caption>
            <thead>
              <tr>
                <th scope="col">Reading</th>
                <th scope="col" class="numeric">
                  Now
                </th>
                <th scope="col" class="share">
                  <span class="unseen">Share of its limit</span>
                </th>
                <th scope="col" class="numeric">
                  Min
                </th>
                <th scope="col" class="numeric">
                  Avg
                </th>
                <th scope="col" class="numeric">
                  Max
                </th>
                <th scope="col" class="numeric source">
                  Age · source
                </th>
              </tr>
            </thead>
            <tbody>
              {part.map((spec) => (
                <Row
                  key={spec.key}
                  {...{ spec, gpu, found }}
                  now={nowOf(gpu, spec, now)}
                  fromStore={isFromStore(gpu, spec)}
                  storeAgeMs={hubTimeMs() - (newest?.samples[0]?.timeMs ?? hubTimeMs())}
                />
              ))}
            </tbody>
          </table>
        ))}
      </div>
    </section>
  );
}

const stepped = (ms: number, by: number): number => Math.floor(ms / by) * by;

const isFromStore = (gpu: Gpu, { live }: GpuReadingSpec): boolean =>
  live === undefined || gpu.row.ageMs.fast === undefined;

function nowOf(
  gpu: Gpu,
  { key, live }: GpuReadingSpec,
  now: ReadonlyMap<string, number>,
): WireValue {
  const reported = live === undefined ? undefined : read(gpu, live);
  // Its slow readings stay available for seconds after it is lost; they are not current.
  if (gpu.state === "lost" || gpu.state === "silent")
    return reported === undefined || typeof reported === "number" ? "stale" : reported;
  if (reported !== undefined) return reported;
  return now.get(key) ?? "stale";
}

type RangeStatistics = Readonly<Record<Statistic, ReadonlyMap<string, number>>>;

interface RowProps {
  readonly spec: GpuReadingSpec;
  readonly gpu: Gpu;
  readonly now: WireValue;
  readonly found: RangeStatistics;
  readonly fromStore: boolean;
  readonly storeAgeMs: number;
}

function Row({ spec, gpu, now, found, fromStore, storeAgeMs }: RowProps) {
  const { key, label, family, unit, metric, live } = spec;
  const tier = fleet.value?.columns.find((one) => one.key === live);
  // A stored value has the time of the query, not of the reading: the GPU's slowest tier bounds its age.
  const ageMs = fromStore
    ? Math.max(storeAgeMs, gpu.row.ageMs.slow ?? gpu.row.ageMs.fast ?? 0)
    : gpu.row.ageMs[tier?.tier ?? "fast"];
  const help = [tier?.help, metric].filter((part) => part !== undefined).join("\n");
  return (
    <tr data-family={family} data-reading={key}>
      <th scope="row" data-tip={help}>
        {label}
      </th>
      <td class="numeric now">
        <Figure value={now} unit={unit} />
      </td>
      <td class="share">
        <Bar ratio={shareOf(gpu, spec, now)} />
      </td>
      {statistics.map((name) => (
        <td key={name} class="numeric">
          <Figure
            value={found[name].get(key) ?? (typeof now === "number" ? "stale" : now)}
            unit={unit}
            waiting={found[name].size === 0}
          />
        </td>
      ))}
      <td class="numeric unit source">
        {typeof now === "number" && ageMs !== undefined
          ? `${formatAge(ageMs + (fromStore ? 0 : feedDelayMs.value))} · ${fromStore ? "store" : gpu.device.source}`
          : ""}
      </td>
    </tr>
  );
}

/** `waiting`: no answer has come, which is not the same as absent. */
function Figure({
  value,
  unit,
  waiting = false,
}: {
  value: WireValue;
  unit: GpuReadingSpec["unit"];
  waiting?: boolean;
}) {
  if (typeof value !== "number") return waiting ? null : <Absent reason={value} />;
  // Traffic spans six orders of magnitude; everything else keeps one unit, so that a row compares.
  const shown =
    unit === "bytes_per_second" ? toReadableQuantity(value, unit) : toColumnQuantity(value, unit);
  return (
    <span class="value">
      {shown.text}
      {shown.unit !== "" && <span class="unit"> {shown.unit}</span>}
    </span>
  );
}

function shareOf(gpu: Gpu, { key, unit }: GpuReadingSpec, now: WireValue): WireValue {
  if (typeof now !== "number") return now;
  if (unit === "ratio") return now;
  if (key === "temperature-edge") return temperatureRatio(gpu);
  const whole: WireValue =
    key === "memory"
      ? memoryTotal(gpu)
      : key === "power"
        ? powerLimit(gpu)
        : key === "temperature-memory"
          ? gpu.device.facts.limitMemory
          : key === "clock-sm"
            ? gpu.device.facts.clockMaxSm
            : key === "clock-graphics"
              ? gpu.device.facts.clockMaxGraphics
              : "unsupported";
  return typeof whole === "number" && whole > 0 ? now / whole : "unsupported";
}
