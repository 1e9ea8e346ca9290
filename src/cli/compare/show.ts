/** Formats a comparison for the terminal: warnings, summary, and table. */
import type { Comparison } from "../../runs/compare/compare.ts";
import { boundSentences, metricRows, repeatsText } from "../../runs/compare/report/rows.ts";
import { verdictHeadings } from "../../runs/compare/words.ts";
import { alignColumns } from "../table.ts";

export function formatComparison(comparison: Comparison): string {
  const { subjects, statements, caveats } = comparison;
  const [first, ...others] = subjects.map(({ name }) => name);
  const of = (heading: string, lines: readonly string[]): string =>
    lines.length === 0 ? "" : `${heading}\n${lines.map((line) => `  ${line}\n`).join("")}\n`;
  const single = others.length === 0;
  return [
    of(
      "Before you read on",
      caveats.map(({ level, sentence }) => `${level}: ${sentence}`),
    ),
    ...verdictHeadings.map(([own, heading]) =>
      of(
        heading,
        statements.filter(({ verdict }) => verdict === own).map(({ text }) => text),
      ),
    ),
    of("What bounded the work", boundSentences(comparison)),
    of("Repeats", comparison.advice === undefined ? [] : [comparison.advice.sentence]),
    alignColumns([
      [
        "METRIC",
        ...subjects.map(
          ({ name, runs }) => `${name} (${repeatsText(comparison.basis, runs.length)})`,
        ),
        ...(single
          ? []
          : others.flatMap((name) => [
              `${name} AGAINST ${first ?? ""}`,
              "95 % INTERVAL",
              "VERDICT",
            ])),
      ],
      ...metricRows(comparison).map(({ title, metric, means, differences }) => [
        metric.headline ? `${title} *` : title,
        ...means.map((text) => (text.startsWith("n/a") ? "n/a" : text)),
        ...differences.flatMap(({ difference, interval, verdict }) => [
          difference,
          interval,
          verdict,
        ]),
      ]),
    ]),
    "\n* the headline. Verdicts are at the 95 % level of each metric separately.\n",
  ]
    .join("")
    .replaceAll("\u00a0", " ");
}
