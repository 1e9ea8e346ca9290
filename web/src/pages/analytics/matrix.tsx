/** The correlation of each pair of readings, as a number and a shade. */
import { formatFixedPoint } from "../../format/quantity.ts";
import { type Correlation, correlationOf } from "./correlation.ts";
import { correlated } from "./metrics.ts";
import { Section } from "./section.tsx";

export interface MatrixProps {
  readonly values: (key: string) => Float64Array | undefined;
  readonly stepText: string;
  readonly gpus: number;
}

export function CorrelationMatrix({ values, stepText, gpus }: MatrixProps) {
  const reported = correlated.flatMap((one) => {
    const column = values(one.key);
    return column === undefined ? [] : [{ ...one, column }];
  });
  return (
    <Section id="matrix" title="Correlations">
      {reported.length < 2 ? (
        <p class="unit">Fewer than two readings in this range.</p>
      ) : (
        <>
          <div class="table-wrap" role="group" aria-labelledby="matrix" tabIndex={0}>
            <table class="matrix">
              <thead>
                <tr>
                  <td />
                  {reported.slice(0, -1).map(({ key, label }) => (
                    <th key={key} scope="col">
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {reported.slice(1).map((row, at) => (
                  <tr key={row.key}>
                    <th scope="row">{row.label}</th>
                    {reported
                      .slice(0, -1)
                      .map((column, place) =>
                        place > at ? (
                          <td key={column.key} />
                        ) : (
                          <Cell
                            key={column.key}
                            found={correlationOf(row.column, column.column)}
                            says={`${row.label} and ${column.label}`}
                          />
                        ),
                      )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class="unit analysis-method">
            Pearson's r of means over {stepText}
            {gpus > 1 && `, each the mean of ${gpus} GPUs`}. 1: they rise and fall together; −1: one
            rises as the other falls; 0: neither. It says nothing about causes.
          </p>
        </>
      )}
    </Section>
  );
}

function Cell({ found, says }: { found: Correlation; says: string }) {
  if (!found.known)
    return (
      <td class="absent" data-tip={`${says}: ${found.why}`}>
        n/a
      </td>
    );
  const { r, count } = found;
  return (
    <td
      data-there=""
      data-sign={r < 0 ? "minus" : "plus"}
      data-tip={`${says}: r = ${r.toFixed(3)} of ${formatFixedPoint(count, 0)} instants`}
      style={{ "--share": `${Math.round(Math.abs(r) * 55)}%` }}
    >
      {r.toFixed(2).replace("-", "−")}
    </td>
  );
}
