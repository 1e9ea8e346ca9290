/** A comparison as CSV: one line per metric and subject, base units with full precision, missing values empty. Pure. */
import type { Comparison } from "../compare.ts";
import { workUnit } from "../words.ts";

const heads = [
  "metric",
  "unit",
  "subject",
  "repeats",
  "mean",
  "low",
  "high",
  "difference",
  "ratio",
  "difference_as",
  "difference_low",
  "difference_high",
  "p",
  "verdict",
  "why",
] as const;

export function csvOf(comparison: Comparison): string {
  const units = comparison.subjects.map(workUnit);
  const lines = comparison.metrics.flatMap(({ key, unit, of, differences }) =>
    of.map((one, at) => {
      const difference = at === 0 ? undefined : differences[at - 1];
      return [
        key,
        unit.replace("work", units[at] ?? "units"),
        comparison.subjects[at]?.name,
        one.runs.length,
        one.mean,
        one.interval?.low,
        one.interval?.high,
        difference?.amount,
        difference?.ratio,
        difference?.as,
        difference?.low,
        difference?.high,
        difference?.p,
        difference?.verdict,
        one.why ?? difference?.why,
      ];
    }),
  );
  return [heads, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function cell(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  // Prevents a spreadsheet from evaluating the cell as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
