/** Now, min, mean and max over the range. An absent value shows its reason, and every figure its age and source. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { toColumnQuantity } from "../../format/quantity.ts";
import { toReadableQuantity } from "../../format/readable.ts";
import { fleet, feedDelayMs } from "../../live/feed.ts";
import {
  type Gpu,
  memoryTotal,
  powerLimit,
  read,
  temperatureRatio,
} from "../../../../src/view/gpu.ts";
import { Absent, Bar } from "../../ui/value.tsx";
import { formatRange } from "../../view-state/range.ts";
import { range } from "../../view-state/time.ts";
import { statisticNames } from "../../../../src/view/range-statistics.ts";
import { type GpuReadingSpec, readings } from "./readings.ts";
import type { SeriesStatistics } from "./series-statistics.ts";
import { shortSource } from "../../format/source.ts";

export interface ReadingsTableProps {
  readonly gpu: Gpu;
  readonly reported: ReadonlySet<string>;
  readonly found: SeriesStatistics;
}

export function ReadingsTable({ gpu, reported, found }: ReadingsTableProps) {
  const shown = readings.filter(({ metric, live }) => reported.has(metric) || live !== undefined);
  const half = Math.ceil(shown.length / 2);
  return (
    <section class="gpu-now" aria-labelledby="gpu-now">
      <h3 id="gpu-now">
        Readings{" "}
        <span class="unit">
          {found.isPast ? "last value, and over " : "now, and over "}
          {formatRange(range.value).toLowerCase()}
        </span>
      </h3>
      <div class="readings">
        {[shown.slice(0, half), shown.slice(half)].map((part, at) => (
          <table key={at}>
            <caption class="unseen">{at === 0 ? "Readings" : "More readings"}</caption>
            <thead>
              <tr>
                <th scope="col">Reading</th>
                <th scope="col" class="numeric">
                  {found.isPast ? "Last" : "Now"}
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
                  newest={newestOf(gpu, spec, found)}
                  fromStore={found.isPast || isFromStore(gpu, spec)}
                />
              ))}
            </tbody>
          </table>
        ))}
      </div>
    </section>
  );
}

const isFromStore = (gpu: Gpu, { live }: GpuReadingSpec): boolean =>
  live === undefined || gpu.row.ageMs.fast === undefined;

/** The newest value, or the last of a past range. */
function newestOf(gpu: Gpu, spec: GpuReadingSpec, found: SeriesStatistics): WireValue {
  const stored = found.combine("newest", spec);
  const reported = spec.live === undefined ? undefined : read(gpu, spec.live);
  if (found.isPast)
    return stored ?? (typeof reported === "number" ? "stale" : (reported ?? "stale"));
  // Slow readings stay available for seconds after a GPU is lost, but they are not current.
  if (gpu.state === "lost" || gpu.state === "silent")
    return reported === undefined || typeof reported === "number" ? "stale" : reported;
  return reported ?? stored ?? "stale";
}

interface RowProps {
  readonly spec: GpuReadingSpec;
  readonly gpu: Gpu;
  readonly newest: WireValue;
  readonly found: SeriesStatistics;
  readonly fromStore: boolean;
}

function Row({ spec, gpu, newest, found, fromStore }: RowProps) {
  const { key, label, family, unit, metric, live } = spec;
  const tier = fleet.value?.columns.find((one) => one.key === live);
  // A stored value has the time of the query, not of the reading: the GPU's slowest tier bounds its age.
  const ageMs = fromStore
    ? (gpu.row.ageMs.slow ?? gpu.row.ageMs.fast)
    : gpu.row.ageMs[tier?.tier ?? "fast"];
  const help = [tier?.help, metric].filter((part) => part !== undefined).join("\n");
  return (
    <tr data-family={family} data-reading={key}>
      <th scope="row" data-tip={help}>
        {label}
      </th>
      <td class="numeric now">
        <Figure value={newest} unit={unit} waiting={!found.isKnown("newest")} />
      </td>
      <td class="share">
        <Bar ratio={shareOf(gpu, spec, newest)} />
      </td>
      {statisticNames.map((name) => (
        <td key={name} class="numeric">
          <Figure
            value={found.combine(name, spec) ?? (typeof newest === "number" ? "stale" : newest)}
            unit={unit}
            waiting={!found.isKnown(name)}
          />
        </td>
      ))}
      <td class="numeric unit source">
        {typeof newest === "number" ? ageAndSource(gpu, ageMs, fromStore, found.isPast) : ""}
      </td>
    </tr>
  );
}

function ageAndSource(
  gpu: Gpu,
  ageMs: number | undefined,
  fromStore: boolean,
  isPast: boolean,
): string {
  if (isPast) return "store";
  if (ageMs === undefined) return "";
  return `${formatAge(ageMs + feedDelayMs.value)} · ${fromStore ? "store" : shortSource(gpu.device.source)}`;
}

/** `waiting`: no result yet, which differs from an absent value. */
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
  // Traffic spans six orders of magnitude; every other reading keeps one unit, so that a row is comparable.
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
