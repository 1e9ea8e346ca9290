/** A comparison as Markdown, for an issue or a pull request. Names are user input and are escaped. Pure. */
import type { Comparison } from "../compare.ts";
import { verdictHeadings } from "../words.ts";
import {
  boundSentences,
  methodText,
  metricRows,
  repeatsText,
  spreadHeads,
  spreadRows,
} from "./rows.ts";

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Escapes a text so that it contains no element, link, remote image or line break. */
const plain = (text: string): string =>
  text
    .replaceAll(/[&<>]/g, (letter) => entities[letter] ?? "")
    .replaceAll(/[\\`[\]]/g, String.raw`\$&`)
    .replaceAll(/\s*[\r\n]+\s*/g, " ");
const cell = (text: string): string => text.replaceAll("|", String.raw`\|`);
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");

export function markdownOf(comparison: Comparison): string {
  const { subjects, statements, caveats } = comparison;
  const [first, ...others] = subjects.map(({ name }) => plain(name));
  const bounds = boundSentences(comparison);
  const list = (all: readonly { text: string; headline: boolean }[]): string =>
    all
      .map(({ text, headline }) => `- ${headline ? `**${plain(text)}**` : plain(text)}`)
      .join("\n");
  return `${[
    `# ${subjects.map(({ name }) => plain(name)).join(" against ")}`,
    ...(caveats.length === 0
      ? []
      : [
          "## Before you read on",
          caveats.map(({ level, sentence }) => `- **${level}**: ${plain(sentence)}`).join("\n"),
        ]),
    ...verdictHeadings.flatMap(([verdict, heading]) => {
      const found = statements.filter((one) => one.verdict === verdict);
      return found.length === 0 ? [] : [`## ${heading}`, list(found)];
    }),
    ...(comparison.advice === undefined ? [] : ["## Repeats", comparison.advice.sentence]),
    comparison.basis === "runs" ? "## Means over repeats" : "## Means",
    table(
      [
        "metric",
        ...subjects.map(
          ({ name, runs }) => `${plain(name)} (${repeatsText(comparison.basis, runs.length)})`,
        ),
        ...others.flatMap((name) => [`${name} against ${first ?? ""}`, "95 % interval", "verdict"]),
      ],
      metricRows(comparison).map(({ title, metric, means, differences }) => [
        metric.headline ? `**${plain(title)}**` : plain(title),
        ...[
          ...means,
          ...differences.flatMap(({ difference, interval, verdict }) => [
            difference,
            interval,
            verdict,
          ]),
        ].map(plain),
      ]),
    ),
    ...(bounds.length === 0
      ? []
      : ["## What bounded the work", bounds.map((text) => `- ${plain(text)}`).join("\n")]),
    "## Readings of every run",
    table(
      ["metric", "unit", "subject", "run", ...spreadHeads],
      spreadRows(comparison).map(({ title, unit, subject, run, cells }) =>
        [title, unit, subjects[subject]?.name ?? "", run, ...cells].map(plain),
      ),
    ),
    methodText(comparison),
  ].join("\n\n")}\n`;
}
