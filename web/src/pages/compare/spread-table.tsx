/** Means, percentiles and differences of every metric, and how sure the differences are. */
import { useMemo } from "preact/hooks";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { fixed } from "../../format/quantity.ts";
import { inWords, readable } from "../../format/readable.ts";
import type { Compared } from "./compared.ts";
import type { ComparedMetric } from "./metrics.ts";
import { Swatch } from "./picker.tsx";
import type { Difference, Spread } from "./statistics.ts";
import { differenceOfMeans, seeded, spreadOf } from "./statistics.ts";

export interface SpreadTableProps {
  readonly compared: readonly Compared[];
  readonly metrics: readonly ComparedMetric[];
  /** The readings of a subject in a metric; undefined where it has none. */
  readonly valuesOf: (metric: ComparedMetric, one: Compared) => Float64Array | undefined;
  /** Changes when the readings do. */
  readonly version: unknown;
  readonly stepText: string;
}

interface Row {
  readonly compared: Compared;
  readonly spread: Spread | undefined;
  readonly difference: Difference | undefined;
  /** Where all its points lie on one side of all of the first one's: which needs no interval to be believed. */
  readonly apart: "above" | "below" | undefined;
  /** The first one's mean. */
  readonly against: number | undefined;
}

const SEED = 20_260_801;
const columns = ["mean", "5 %", "median", "95 %", "most"] as const;

export function SpreadTable({ compared, metrics, valuesOf, version, stepText }: SpreadTableProps) {
  const groups = useMemo(
    () => metrics.map((metric) => ({ metric, rows: rowsOf(metric, compared, valuesOf) })),
    [version, compared.map(({ key }) => key).join()],
  );
  const first = compared[0]?.label ?? "";
  return (
    <section aria-labelledby="spread">
      <h2 class="section" id="spread">
        Readings side by side
      </h2>
      <div class="table-wrap" role="group" aria-labelledby="spread" tabIndex={0}>
        <table class="table compare-table">
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col">Of</th>
              {columns.map((name) => (
                <th key={name} scope="col" class="numeric">
                  {name}
                </th>
              ))}
              <th scope="col" class="numeric">
                against the first
              </th>
              <th scope="col" class="numeric">
                95 % interval
              </th>
              <th scope="col" class="numeric">
                points
              </th>
            </tr>
          </thead>
          {groups.map(({ metric, rows }) => (
            <tbody key={metric.key} data-family={metric.family}>
              {rows.map((row, at) => (
                <tr key={row.compared.key}>
                  {at === 0 && (
                    <th scope="rowgroup" rowSpan={rows.length}>
                      {metric.title}
                    </th>
                  )}
                  <td>
                    <span class="compare-of">
                      <Swatch compared={row.compared} />
                      {row.compared.label}
                    </span>
                  </td>
                  <Cells row={row} metric={metric} first={at === 0} />
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </div>
      <p class="unit compare-method">
        A point every {stepText}. Differences are of the means, against {first}. Their interval is
        by the moving-block bootstrap: 500 draws of blocks four times as long as readings tell about
        each other (integrated autocorrelation time); blocks of the same instants are drawn
        together. It says how far the mean of these readings may be off by chance, not what another
        card or another day would give.
      </p>
    </section>
  );
}

function Cells({ row, metric, first }: { row: Row; metric: ComparedMetric; first: boolean }) {
  const { spread, difference, against } = row;
  const none = <span class="unit">–</span>;
  if (spread === undefined)
    return (
      <>
        {[...columns, "difference", "interval"].map((name) => (
          <td key={name} class="numeric">
            <NotThere why="No reading of it in this range." />
          </td>
        ))}
        <td class="numeric">0</td>
      </>
    );
  const { mean, p5, p50, p95, max, count } = spread;
  return (
    <>
      {[mean, p5, p50, p95, max].map((value, at) => (
        <td key={columns[at]} class="numeric">
          {inWords(value, metric.unit)}
        </td>
      ))}
      <td class="numeric">
        {first ? none : <Delta mean={mean} against={against} metric={metric} />}
      </td>
      <td class="numeric">
        {first ? (
          none
        ) : difference?.known === true ? (
          `${signed(difference.low, metric.unit)} … ${signed(difference.high, metric.unit)}`
        ) : (
          <>
            <NotThere why={difference?.why ?? "The first has no reading of it."} />
            {row.apart !== undefined && <span class="unit">, every point {row.apart}</span>}
          </>
        )}
      </td>
      <td class="numeric">{fixed(count, 0)}</td>
    </>
  );
}

function Delta({
  mean,
  against,
  metric,
}: {
  mean: number;
  against: number | undefined;
  metric: ComparedMetric;
}) {
  if (against === undefined) return <NotThere why="The first has no reading of it." />;
  const value = mean - against;
  // A share of degrees means nothing, since their zero is a convention; one of a share only confuses.
  const shared = metric.unit !== "celsius" && metric.unit !== "ratio" && against !== 0;
  return (
    <>
      {signed(value, metric.unit)}
      {shared && (
        <span class="unit"> ({signedNumber((100 * value) / Math.abs(against), 1)} %)</span>
      )}
    </>
  );
}

export function NotThere({ why }: { why: string }) {
  return (
    <span class="absent" data-tip={why} aria-label={`not available: ${why}`} role="note">
      n/a
    </span>
  );
}

/** `+26.1 W`; shares differ by points, since a percent of a percent is read two ways. */
function signed(value: number, unit: Unit): string {
  if (unit === "ratio") return `${signedNumber(value * 100, 1)} points`;
  const { text, unit: name } = readable(Math.abs(value), unit);
  const sign = Number(text.replaceAll(/[^\d.]/g, "")) === 0 ? "" : value < 0 ? "−" : "+";
  return `${sign}${text}\u00a0${name}`;
}

function signedNumber(value: number, digits: number): string {
  const text = fixed(Math.abs(value), digits);
  return `${Number(text.replaceAll(/[^\d.]/g, "")) === 0 ? "" : value < 0 ? "−" : "+"}${text}`;
}

function rowsOf(
  metric: ComparedMetric,
  compared: readonly Compared[],
  valuesOf: SpreadTableProps["valuesOf"],
): readonly Row[] {
  const [first] = compared;
  const baseline = first === undefined ? undefined : valuesOf(metric, first);
  const firstSpread = baseline === undefined ? undefined : spreadOf(baseline);
  return compared.map((one) => {
    const values = valuesOf(metric, one);
    const difference =
      values === undefined || baseline === undefined || one === first
        ? undefined
        : differenceOfMeans(baseline, values, one.shiftMs === first?.shiftMs, seeded(SEED));
    const spread = values === undefined ? undefined : spreadOf(values);
    return {
      compared: one,
      spread,
      difference,
      apart: sideOf(spread, firstSpread),
      against: firstSpread?.mean,
    };
  });
}

function sideOf(one: Spread | undefined, first: Spread | undefined): "above" | "below" | undefined {
  if (one === undefined || first === undefined) return undefined;
  if (one.min > first.max) return "above";
  return one.max < first.min ? "below" : undefined;
}
