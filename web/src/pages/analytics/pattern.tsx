/** The hours of the day as shades. An hour without readings is blank, never the shade of zero. */
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import { type Hour, patternOf } from "./hours.ts";
import { patterns } from "./metrics.ts";
import { patternMetric } from "./scope.ts";
import { Section } from "./section.tsx";

export interface PatternProps {
  readonly hours: readonly Hour[];
  readonly values: (key: (typeof patterns)[number]["key"]) => Float64Array | undefined;
}

export function HourPattern({ hours, values }: PatternProps) {
  const chosen = patterns.find(({ key }) => key === patternMetric.value) ?? patterns[0];
  const column = values(chosen.key);
  const found = column === undefined ? undefined : patternOf(column, hours);
  return (
    <Section
      id="pattern"
      title="Hours of the day"
      beside={
        <>
          <fieldset class="choice">
            <legend class="unseen">Reading</legend>
            {patterns.map(({ key, label }) => (
              <button
                key={key}
                type="button"
                aria-pressed={key === chosen.key}
                onClick={() => {
                  patternMetric.value = key;
                }}
              >
                {label}
              </button>
            ))}
          </fieldset>
          {found !== undefined && found.min < found.max && (
            <span class="pattern-scale" data-family={chosen.family}>
              <span class="unit">{say(found.min, chosen.unit)}</span>
              <span class="ramp" aria-hidden="true">
                {[0, 20, 40, 60, 80, 100].map((share) => (
                  <i key={share} style={{ "--share": `${share}%` }} />
                ))}
              </span>
              <span class="unit">{say(found.max, chosen.unit)}</span>
            </span>
          )}
        </>
      }
    >
      {found === undefined ? (
        <p class="unit">No samples in this range.</p>
      ) : (
        <div class="table-wrap" role="group" aria-labelledby="pattern" tabIndex={0}>
          <table class="pattern" data-family={chosen.family}>
            <thead>
              <tr>
                <td />
                {Array.from({ length: 24 }, (_, hour) => (
                  <th key={hour} scope="col">
                    {String(hour).padStart(2, "0")}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {found.rows.map(({ label, cells }) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  {cells.map((value, hour) => (
                    <Cell
                      // An hour has no key besides its index.
                      key={String(hour)}
                      text={value === undefined ? undefined : say(value, chosen.unit)}
                      where={`${label} ${String(hour).padStart(2, "0")}:00`}
                      share={shareOf(value, found.min, found.max)}
                    />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  );
}

const say = (value: number, unit: Unit): string => formatWithUnit(toColumnQuantity(value, unit));

const shareOf = (value: number | undefined, min: number, max: number): number =>
  value === undefined || max <= min ? 0.5 : (value - min) / (max - min);

function Cell({ text, where, share }: { text: string | undefined; where: string; share: number }) {
  if (text === undefined)
    return (
      <td>
        <span class="unseen">n/a</span>
      </td>
    );
  return (
    <td
      data-there=""
      data-tip={`${where}: ${text}`}
      style={{ "--share": `${Math.round(share * 100)}%` }}
    >
      <span class="unseen">{text}</span>
    </td>
  );
}
