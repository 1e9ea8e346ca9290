/** Means, percentiles and differences of every metric, and which of them are significant. */
import type { ComparedMetric, Comparison } from "../../../../src/runs/compare/compare.ts";
import { formatMeasurement } from "../../../../src/runs/compare/quantity.ts";
import { methodText } from "../../../../src/runs/compare/report/rows.ts";
import {
  formatDifference,
  formatInterval,
  verdictWords,
  workUnit,
} from "../../../../src/runs/compare/words.ts";

/** Each repeat has its own distribution, so that their mean is shown with its confidence interval. */
const columnsOf = (basis: Comparison["basis"]): readonly string[] =>
  basis === "runs" ? ["mean", "its 95 % interval"] : ["mean", "p1", "p50", "p99", "most"];

export function DifferenceTable({
  comparison,
  colours,
}: {
  comparison: Comparison;
  /** One per subject. */
  colours: readonly Colour[];
}) {
  const { subjects, metrics, basis } = comparison;
  return (
    <section aria-labelledby="spread">
      <h2 class="section" id="spread">
        {basis === "runs" ? "Repeats side by side" : "Readings side by side"}
      </h2>
      <div class="table-wrap" role="group" aria-labelledby="spread" tabIndex={0}>
        <table class="table compare-table">
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col">Of</th>
              <th scope="col">verdict</th>
              {columnsOf(basis).map((name) => (
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
                {basis === "runs" ? "repeats" : "readings"}
              </th>
            </tr>
          </thead>
          {metrics.map((metric) => (
            <tbody key={metric.key} data-metric={metric.key}>
              {subjects.map(({ name }, at) => (
                <tr key={name}>
                  {at === 0 && (
                    <th scope="rowgroup" rowSpan={subjects.length}>
                      {metric.title}
                    </th>
                  )}
                  <td>
                    <span class="compare-of">
                      <ColourMark colour={colours[at]} />
                      {name}
                    </span>
                  </td>
                  <Cells {...{ metric, at, comparison }} />
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </div>
      <p class="unit compare-method">{methodText(comparison)}</p>
    </section>
  );
}

export interface Colour {
  readonly colour: string;
  readonly dashed?: boolean;
}

export const ColourMark = ({ colour }: { colour: Colour | undefined }) => (
  <span
    class="swatch"
    aria-hidden="true"
    data-dashed={colour?.dashed === true ? "" : undefined}
    style={{ "--swatch": colour?.colour }}
  />
);

function Cells({
  metric,
  at,
  comparison,
}: {
  metric: ComparedMetric;
  at: number;
  comparison: Comparison;
}) {
  const own = metric.of[at];
  const work = workUnit(comparison.subjects[at]);
  const none = <span class="unit">–</span>;
  const formatIfKnown = (value: number | undefined) =>
    value === undefined ? none : formatMeasurement(value, metric.unit, work);
  const [spread] = own?.distributions ?? [];
  const single = own?.distributions.length === 1 ? (spread ?? undefined) : undefined;
  const difference = at === 0 ? undefined : metric.differences[at - 1];
  return (
    <>
      <td data-verdict={difference?.verdict}>
        {difference === undefined ? (
          none
        ) : difference.why === undefined ? (
          verdictWords[difference.verdict]
        ) : (
          <span
            class="absent"
            data-tip={difference.why}
            role="note"
            aria-label={`${verdictWords[difference.verdict]}: ${difference.why}`}
          >
            {verdictWords[difference.verdict]}
          </span>
        )}
      </td>
      <td class="numeric">
        {own?.mean === undefined ? (
          <UnavailableValue why={own?.why ?? "no samples"} />
        ) : (
          formatIfKnown(own.mean)
        )}
      </td>
      {comparison.basis === "runs" ? (
        <td class="numeric">
          {own?.interval === undefined
            ? none
            : `${formatMeasurement(own.interval.low, metric.unit, work)} … ${formatMeasurement(own.interval.high, metric.unit, work)}`}
        </td>
      ) : (
        (["p1", "p50", "p99", "max"] as const).map((share) => (
          <td key={share} class="numeric">
            {formatIfKnown(single?.[share])}
          </td>
        ))
      )}
      <td class="numeric">
        {difference === undefined ? (
          none
        ) : difference.amount === undefined ? (
          <UnavailableValue why={difference.why ?? ""} />
        ) : difference.amount === 0 ? (
          "0"
        ) : (
          formatDifference(metric, difference)
        )}
      </td>
      <td class="numeric">
        {difference?.low === undefined || difference.low === difference.high
          ? none
          : formatInterval(metric, difference)}
      </td>
      <td class="numeric">
        {comparison.basis === "runs" ? (own?.runs.length ?? 0) : (single?.count ?? none)}
      </td>
    </>
  );
}

export function UnavailableValue({ why }: { why: string }) {
  return (
    <span class="absent" data-tip={why} aria-label={`not available: ${why}`} role="note">
      n/a
    </span>
  );
}
