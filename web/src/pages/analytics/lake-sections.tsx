/** Analyses by SQL over the lake, beyond PromQL: waste, causes of temperature rises, and cooling. */
import type { ComponentChildren } from "preact";
import { formatFixedPoint, toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import type { FetchState } from "../../query/use-fetch.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { useLate } from "../../ui/use-late.ts";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant, writeRange } from "../../view-state/range.ts";
import type { Price } from "../fleet/price.ts";
import { useAnalysis, useHasLake } from "./lake.ts";
import {
  type AnalysisQuery,
  gpuIn,
  type LakeResultRow,
  newestRowPerGpu,
  numberIn,
  textIn,
} from "./lake-rows.ts";
import { Section } from "./section.tsx";

const STEP_MS = 300_000;
const MOST_ROWS = 50;
const AROUND_MS = 15 * 60_000;

export function LakeSections({
  scope,
  fromMs,
  toMs,
  price,
}: {
  scope: string;
  fromMs: number;
  toMs: number;
  price: Price | undefined;
}) {
  const lake = useHasLake();
  if (lake === undefined) return null;
  if (!lake)
    return (
      <Section id="lake" title="From the lake">
        <p class="unit">
          Causes of spikes, waste and thermal drift come from the lake, and this hub keeps none:
          start it with <code>--lake</code>.
        </p>
      </Section>
    );
  const steady = (ms: number): number => Math.ceil(ms / STEP_MS) * STEP_MS;
  const asked = { scope, fromMs: steady(fromMs), toMs: steady(toMs) };
  return <LakeAnalyses asked={asked} price={price} />;
}

/** Shown in a fixed order as they arrive, so that a later table moves none above it. */
function LakeAnalyses({ asked, price }: { asked: AnalysisQuery; price: Price | undefined }) {
  const more = price === undefined ? {} : { price: String(price.perKwh) };
  const idle = useAnalysis("idle", { ...asked, more });
  const spikes = useAnalysis("spikes", asked);
  const efficiency = useAnalysis("efficiency", asked);
  return (
    <>
      <Waste state={idle} price={price} />
      {isSettled(idle) && <Causes state={spikes} />}
      {isSettled(idle) && isSettled(spikes) && <Drift state={efficiency} />}
    </>
  );
}

type RowsState = FetchState<readonly LakeResultRow[]>;

const isSettled = ({ value, error }: RowsState): boolean =>
  value !== undefined || error !== undefined;

function Waste({ state, price }: { state: RowsState; price: Price | undefined }) {
  return (
    <Section id="waste" title="Idle time and waste">
      <AnalysisRows state={state}>
        {(rows) => (
          <Table
            caption="Idle hours of each GPU"
            class="stacked"
            columns={[
              gpuColumn,
              amount("idle_hours", "Idle", (hours) => `${formatFixedPoint(hours, 1)} h`),
              amount("idle_share", "Share of hours", percent),
              amount("longest_idle_hours", "Longest", (hours) => `${formatFixedPoint(hours, 1)} h`),
              amount("idle_power_mean_watts", "Power idle", (watts) =>
                formatWithUnit(toColumnQuantity(watts, "watts")),
              ),
              amount("idle_kwh", "Energy idle", (kwh) => `${formatFixedPoint(kwh, 2)} kWh`),
              amount(
                "held_idle_hours",
                "Memory held",
                (hours) => `${formatFixedPoint(hours, 1)} h`,
                "Idle while a program held its memory",
              ),
              ...(price === undefined
                ? []
                : [
                    amount("idle_cost", "Cost idle", (cost) =>
                      `${formatFixedPoint(cost, 2)} ${price.currency}`.trim(),
                    ),
                  ]),
            ]}
            rows={rows}
            rowKey={gpuIn}
            empty="No utilisation was read in this range."
          />
        )}
      </AnalysisRows>
    </Section>
  );
}

const causes: Readonly<Record<string, string>> = {
  load: "load increased",
  fan: "fan slowed down",
  ambient: "warmer ambient air",
  unknown: "unknown",
};

function Causes({ state }: { state: RowsState }) {
  return (
    <Section id="causes" title="Sudden rises and their causes">
      <AnalysisRows state={state}>
        {(rows) => (
          <>
            <Table
              caption="Sudden rises of temperature with their causes"
              class="stacked"
              columns={[
                {
                  key: "began",
                  label: "Began",
                  cell: (row) => <Moment row={row} />,
                  by: (row) => textIn(row, "began"),
                },
                gpuColumn,
                {
                  key: "cause",
                  label: "Cause",
                  cell: (row) => causes[textIn(row, "cause")] ?? textIn(row, "cause"),
                  by: (row) => textIn(row, "cause"),
                },
                amount("peak_celsius", "Peak", (value) =>
                  formatWithUnit(toColumnQuantity(value, "celsius")),
                ),
                amount(
                  "rise_celsius",
                  "Rise",
                  (value) => `+${formatWithUnit(toColumnQuantity(value, "celsius"))}`,
                ),
                amount(
                  "power_rise_watts",
                  "Power",
                  (value) =>
                    `${value < 0 ? "" : "+"}${formatWithUnit(toColumnQuantity(value, "watts"))}`,
                ),
                amount("fan_fall", "Fan", (value) => (value > 0 ? `−${percent(value)}` : "steady")),
              ]}
              rows={[...rows].reverse().slice(0, MOST_ROWS)}
              rowKey={(row) => `${gpuIn(row)} ${textIn(row, "began")}`}
              empty="None in this range."
            />
            <p class="unit analysis-method">
              At least 10 °C within a minute.
              {rows.length > MOST_ROWS && ` Shown are the newest ${MOST_ROWS} of ${rows.length}.`}
            </p>
          </>
        )}
      </AnalysisRows>
    </Section>
  );
}

/** The start time, with a link to the GPU's charts around it. */
function Moment({ row }: { row: LakeResultRow }) {
  const ms = Date.parse(textIn(row, "began"));
  const around = writeRange({ kind: "between", fromMs: ms - AROUND_MS, toMs: ms + AROUND_MS });
  return <a href={hrefOf("gpu", { uuid: gpuIn(row), ...around })}>{formatInstant(ms)}</a>;
}

function Drift({ state }: { state: RowsState }) {
  return (
    <Section id="drift" title="Thermal efficiency">
      <AnalysisRows state={state}>
        {(rows) => (
          <>
            <Table
              caption="Degrees over ambient per watt of each GPU"
              class="stacked"
              columns={[
                gpuColumn,
                {
                  key: "day",
                  label: "Newest day",
                  cell: (row) => textIn(row, "day"),
                  by: (row) => textIn(row, "day"),
                },
                amount("celsius_per_watt", "Heat per watt", (value) => `${value.toFixed(4)} °C/W`),
                amount(
                  "baseline_celsius_per_watt",
                  "First days",
                  (value) => `${value.toFixed(4)} °C/W`,
                ),
                amount(
                  "drift_ratio",
                  "Drift",
                  (value) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`,
                ),
                {
                  key: "state",
                  label: "State",
                  cell: (row) => textIn(row, "state"),
                  by: (row) => textIn(row, "state"),
                },
              ]}
              rows={newestRowPerGpu(rows)}
              rowKey={gpuIn}
              rowLevel={(row) => (row["state"] === "worse" ? "warn" : undefined)}
              empty="No steady load in this range."
            />
            <p class="unit analysis-method">
              Edge temperature over 25 °C, per watt under steady load, against the first 7 days of
              the range. It rises as dust settles or paste dries.
            </p>
          </>
        )}
      </AnalysisRows>
    </Section>
  );
}

function AnalysisRows({
  state,
  children,
}: {
  state: RowsState;
  children: (rows: readonly LakeResultRow[]) => ComponentChildren;
}) {
  const late = useLate(state.value === undefined && state.loading);
  if (state.value !== undefined) return <>{children(state.value)}</>;
  if (state.error !== undefined && state.error.status !== 0)
    return (
      <p class="bad" role="alert">
        {state.error.message}
      </p>
    );
  return late ? <p class="unit">Reading the lake…</p> : null;
}

const absent = (why: string) => (
  <span class="absent" data-tip={why}>
    n/a
  </span>
);

const gpuColumn: TableColumn<LakeResultRow> = {
  key: "gpu",
  label: "GPU",
  cell: (row) => (
    <a href={hrefOf("gpu", { uuid: gpuIn(row) })}>
      {`GPU ${textIn(row, "gpu")} · ${textIn(row, "host")}`}
    </a>
  ),
  by: (row) => `${textIn(row, "host")} ${textIn(row, "gpu").padStart(4, "0")}`,
};

const amount = (
  name: string,
  label: string,
  say: (value: number) => string,
  tip?: string,
): TableColumn<LakeResultRow> => ({
  // Narrow screens show the key as the label.
  key: label.toLowerCase(),
  label,
  numeric: true,
  ...(tip === undefined ? {} : { tip }),
  cell: (row) => {
    const value = numberIn(row, name);
    return value === undefined ? absent("Not read in this range.") : say(value);
  },
  by: (row) => numberIn(row, name),
});

const percent = (value: number): string => formatWithUnit(toColumnQuantity(value, "ratio"));
