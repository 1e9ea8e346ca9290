/** Power, temperature, energy and work of each subject, in columns side by side. */
import type { ComponentChild } from "preact";
import { formatFixedPoint } from "../../format/quantity.ts";
import { formatReadable } from "../../format/readable.ts";
import type { ChosenSubject } from "./chosen-subjects.ts";
import type { SubjectFacts } from "./facts.ts";
import { Swatch } from "./picker.tsx";
import { UnavailableValue } from "./difference-table.tsx";

export type WorkDone =
  | {
      /** Per second. */
      readonly work: number;
      /** Work per joule, which equals work per second and watt. */
      readonly perJoule: number;
    }
  | { readonly why: string };

export interface SubjectColumn {
  readonly compared: ChosenSubject;
  readonly facts: SubjectFacts | undefined;
  readonly meanWatts: number | undefined;
  readonly work: WorkDone;
}

/** The answers of the hub that the rows come from. */
export type FactSource = "facts" | "comparison";

interface FactRow {
  readonly label: string;
  readonly from: FactSource;
  readonly tip?: string;
  readonly cell: (one: SubjectColumn) => ComponentChild;
}

const notReported = "This GPU does not report it, or not in this range.";
const number = (value: number | undefined, unit: "watts" | "celsius"): ComponentChild =>
  value === undefined ? <UnavailableValue why={notReported} /> : formatReadable(value, unit);

const rows: readonly FactRow[] = [
  {
    label: "Mean power",
    from: "comparison",
    cell: ({ meanWatts }) => number(meanWatts, "watts"),
  },
  {
    label: "Peak power",
    from: "facts",
    tip: "Of a host: the sum of its GPUs' peaks, which need not be of the same instant",
    cell: ({ facts }) => (
      <>
        {number(facts?.peakWatts, "watts")}
        {facts?.peakWatts !== undefined &&
          facts.limitWatts !== undefined &&
          facts.limitWatts > 0 && (
            <span class="unit">
              {` ${formatFixedPoint((100 * facts.peakWatts) / facts.limitWatts, 0)} % of ${formatReadable(facts.limitWatts, "watts")}`}
            </span>
          )}
      </>
    ),
  },
  {
    label: "Energy",
    from: "facts",
    tip: "From the counters, by PromQL's increase over the range",
    cell: ({ facts }) =>
      facts?.joules === undefined ? (
        <UnavailableValue why="No energy counter in this range." />
      ) : (
        <span data-tip={`From ${facts.counter ?? "its counter"}`}>{energy(facts.joules)}</span>
      ),
  },
  {
    label: "Hottest sensor",
    from: "facts",
    cell: ({ facts }) => number(facts?.hottestCelsius, "celsius"),
  },
  {
    label: "Closest to slowing down",
    from: "facts",
    tip: "The least distance to the temperature at which the GPU slows itself down",
    cell: ({ facts }) => (
      <>
        {number(facts?.marginCelsius, "celsius")}
        {facts?.marginCelsius !== undefined && <span class="unit"> below it</span>}
      </>
    ),
  },
  {
    label: "Clocks held down",
    from: "facts",
    tip: "Share of the readings, by reason",
    cell: ({ facts }) =>
      facts?.throttled === undefined ? (
        <UnavailableValue why={notReported} />
      ) : facts.throttled.length === 0 ? (
        "never"
      ) : (
        facts.throttled
          .map(
            ({ reason, share }) =>
              `${reason} ${share < 0.01 ? "< 1" : formatFixedPoint(100 * share, 0)} %`,
          )
          .join(", ")
      ),
  },
  {
    label: "Work done",
    from: "comparison",
    tip: "Mean of the work query, or of the simulator's work counter without a query",
    cell: ({ work }) =>
      "why" in work ? <Because why={work.why} /> : `${plain(work.work)} per second`,
  },
  {
    label: "Performance per watt",
    from: "comparison",
    tip: "Work per second over mean watts, which is work per joule",
    cell: ({ work }) =>
      "why" in work ? <Because why={work.why} /> : `${plain(work.perJoule)} per joule`,
  },
];

/** Stated in full, because users should know that utilisation does not measure work. */
const Because = ({ why }: { why: string }) => <span class="absent">n/a: {why}</span>;

function plain(value: number): string {
  const rounded = Number(value.toPrecision(4));
  return Math.abs(rounded) >= 1_000 ? formatFixedPoint(rounded, 0) : String(rounded);
}

function energy(joules: number): string {
  if (joules >= 3_600_000) return `${formatFixedPoint(joules / 3_600_000, 2)}\u00a0kWh`;
  return joules < 3_600
    ? formatReadable(joules, "joules")
    : `${formatFixedPoint(joules / 3_600, joules < 360_000 ? 1 : 0)}\u00a0Wh`;
}

export interface FactsTableProps {
  readonly standings: readonly SubjectColumn[];
  /** Awaited answers, which differ from absent values. */
  readonly awaited: ReadonlySet<FactSource>;
}

export function FactsTable({ standings, awaited }: FactsTableProps) {
  return (
    <section aria-labelledby="facts">
      <h2 class="section" id="facts">
        Power, heat and work
      </h2>
      <div class="table-wrap" role="group" aria-labelledby="facts" tabIndex={0}>
        <table class="table compare-table figures">
          <thead>
            <tr>
              <td />
              {standings.map(({ compared }) => (
                <th key={compared.key} scope="col">
                  <span class="compare-of">
                    <Swatch compared={compared} />
                    {compared.label}
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ label, tip, from, cell }) => (
              <tr key={label}>
                <th scope="row" data-tip={tip}>
                  {label}
                </th>
                {standings.map((one) => (
                  <td key={one.compared.key}>
                    {awaited.has(from) ? (
                      <span class="skeleton" aria-label="loading" role="img" />
                    ) : (
                      cell(one)
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
