/** Analytics of a range: days, hours of the day, correlations, spikes, energy. Every figure is PromQL over the current range. */
import { useMemo } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import { parseDurationMs } from "../../../../src/config/duration.ts";
import type { HourMean } from "../../../../src/view/range-statistics.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { gridOf, lengthOf } from "../../query/columns.ts";
import { knownGpus, storeAsked, useKnownGpus } from "../../query/known-gpus.ts";
import { useJson } from "../../query/use-fetch.ts";
import { type CurveQuery, useCurves, type CurvesState } from "../../query/use-curves.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { useLate } from "../../ui/use-late.ts";
import { hrefOf } from "../../view-state/address.ts";
import { formatRange } from "../../view-state/range.ts";
import { stepMsFor } from "../../../../src/view/step.ts";
import { range, rangeMs, setRange, timeWindow } from "../../view-state/time.ts";
import { usePrice } from "../fleet/energy.ts";
import { DaysTable } from "./days-table.tsx";
import { EnergyLine } from "./energy-line.tsx";
import { aggregateHours, hourGrid, hoursOf } from "./hours.ts";
import { LakeSections } from "./lake-sections.tsx";
import { CorrelationMatrix } from "./matrix.tsx";
import {
  correlated,
  correlatedQuery,
  hourly,
  type HourlyKey,
  hourlyQuery,
  spikeQuery,
} from "./metrics.ts";
import { HourPattern } from "./pattern.tsx";
import { scope } from "./scope.ts";
import { MOST_GPUS, SpikesTable } from "./spikes-table.tsx";
import "./analytics.css";

const DAY_MS = 86_400_000;
/** Refresh interval of results that change within an hour. */
const AGAIN_MS = 60_000;
/** Widths that decide the number of points: few for correlations, more for spikes, which are short. */
const [MATRIX_PX, SPIKES_PX] = [1_000, 4_000] as const;
const some = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
const hourlyKeys = Object.keys(hourly) as readonly HourlyKey[];

export function Page() {
  useKnownGpus();
  const chosen = scope.value;
  const price = usePrice();
  const known = knownGpus.value;
  const within = inScope(known, chosen);
  // Rounded to the minute: daily figures do not change by the second.
  const { fromMs, toMs } = timeWindow.value;
  const turn = Math.floor(toMs / AGAIN_MS);
  const [from, to] =
    range.value.kind === "last"
      ? [turn * AGAIN_MS - rangeMs.value, turn * AGAIN_MS]
      : [fromMs, toMs];
  const grid = hourGrid(from, to);
  const hours = useMemo(() => hoursOf(grid), [grid.startMs, grid.endMs]);
  const mean = useHourMean(from);
  const byHour = useCurves(
    mean === undefined
      ? []
      : hourlyKeys.map((key) => ({ key, query: hourlyQuery(key, chosen, mean), shiftMs: 0 })),
    grid,
    turn,
  );
  const matrixGrid = gridOf(from, to, stepMsFor(rangeMs.value, MATRIX_PX));
  const byStep = useCurves(
    correlated.map((one): CurveQuery => ({
      key: one.key,
      query: correlatedQuery(one, chosen),
      shiftMs: 0,
    })),
    matrixGrid,
  );
  const tooMany = within.length > MOST_GPUS;
  const spikeGrid = gridOf(from, to, stepMsFor(rangeMs.value, SPIKES_PX));
  const spikes = useCurves(
    tooMany ? [] : [{ key: "spikes", query: spikeQuery(chosen), shiftMs: 0 }],
    spikeGrid,
  );
  const hourOf = (key: string) => byHour.curves?.matrices.get(key)?.series[0]?.values;
  // Those with readings in the range, which may be other GPUs than the present ones.
  const gpus = aggregateHours(hourOf("gpus"), [...hours.keys()], "max") ?? within.length;
  if (gpus === 0 && known.length === 0 && storeAsked.value && byHour.curves !== undefined)
    return <NoGpus />;
  const error = byHour.error ?? byStep.error ?? spikes.error;
  const late = useLate(byHour.curves === undefined && byHour.loading);
  return (
    <>
      <div class="bar-line analysis-bar">
        <ScopeChoice known={known} chosen={chosen} />
        <span class="unit">
          {formatRange(range.value)}: {some(lengthOf(grid), "hour")}
          {gpus > 0 && ` of ${some(gpus, "GPU")}`}, in whole hours (
          {Intl.DateTimeFormat().resolvedOptions().timeZone}
          ). {mean !== undefined && meanWords[mean]}
        </span>
      </div>
      {rangeMs.value < DAY_MS && (
        <Banner
          level="note"
          title="Short range."
          actions={
            <button
              type="button"
              class="link"
              onClick={() => setRange({ kind: "last", ms: 7 * DAY_MS })}
            >
              Show the last 7 days
            </button>
          }
        >
          Daily and hourly patterns need several days.
        </Banner>
      )}
      {error !== undefined && error.status !== 0 && (
        <p class="bad" role="alert">
          {error.message}
        </p>
      )}
      {late && <p class="unit">Loading {some(lengthOf(grid), "hour")}…</p>}
      {byHour.curves !== undefined && (
        <>
          <EnergyLine hours={hours} energy={hourOf("energy")} price={price} />
          <DaysTable hours={hours} values={hourOf} price={price} />
          <HourPattern hours={hours} values={hourOf} />
        </>
      )}
      {/* In a fixed order, so that a later section moves none above it. */}
      {isSettled(byHour) && byStep.curves !== undefined && (
        <CorrelationMatrix
          values={(key) => byStep.curves?.matrices.get(key)?.series[0]?.values}
          stepText={formatAge(matrixGrid.stepMs)}
          gpus={within.length}
        />
      )}
      {isSettled(byHour) && isSettled(byStep) && (tooMany || spikes.curves !== undefined) && (
        <SpikesTable
          matrix={spikes.curves?.matrices.get("spikes")}
          known={known}
          tooMany={tooMany}
          stepText={formatAge(spikeGrid.stepMs)}
          rangeMs={rangeMs.value}
        />
      )}
      {isSettled(byHour) && isSettled(byStep) && (tooMany || isSettled(spikes)) && (
        <LakeSections scope={chosen} fromMs={from} toMs={to} price={price} />
      )}
    </>
  );
}

const meanWords: Readonly<Record<HourMean, string>> = {
  "by time": "Means are weighted by time.",
  "of samples":
    "The range begins before the retention of raw samples: each hour counts the mean of its samples.",
};

/** Undefined until the hub has reported its retention. An engine of its own may report none: it has raw samples only. */
function useHourMean(fromMs: number): HourMean | undefined {
  const { value, error } = useJson<RuntimeInfo>("api/v1/status/runtimeinfo");
  if (value === undefined) return error === undefined || error.status === 0 ? undefined : "by time";
  const retentionMs = parseDurationMs(value.data.storageRetention ?? "") ?? Infinity;
  return fromMs >= hubTimeMs() - retentionMs ? "by time" : "of samples";
}

interface RuntimeInfo {
  readonly data: { readonly storageRetention?: string };
}

const NoGpus = () => (
  <Empty title="No GPU has reported to this hub in this range.">
    <a href={hrefOf("fleet")}>Add a machine</a>
  </Empty>
);

const isSettled = ({ curves, loading }: CurvesState): boolean => curves !== undefined || !loading;

function ScopeChoice({ known, chosen }: { known: readonly Gpu[]; chosen: string }) {
  const hosts = [...new Set(known.map(({ device }) => device.host))];
  return (
    <label>
      <span class="unseen">GPUs in scope</span>
      <select
        class="input"
        value={chosen}
        onChange={({ currentTarget: { value } }) => {
          scope.value = value;
        }}
      >
        <option value="">All GPUs</option>
        {hosts.length > 1 && (
          <optgroup label="Hosts">
            {hosts.map((host) => (
              <option key={host} value={`host:${host}`}>
                {host}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label="GPUs">
          {known.map((gpu) => (
            <option key={gpu.id} value={`gpu:${gpu.id}`}>
              {`${nameOf(gpu)} · ${gpu.device.host}`}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}

function inScope(known: readonly Gpu[], chosen: string): readonly Gpu[] {
  return known.filter(({ id, device }) =>
    ["", `host:${device.host}`, `gpu:${id}`, `gpu:${device.uuid}`].includes(chosen),
  );
}
