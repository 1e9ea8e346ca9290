/** A comparison in one file: words first, then tables and charts; light or dark as the reader has it, nothing fetched. Pure. */
import { escapeHtml, lockedIn } from "../../report/chart.ts";
import type { Comparison, ComparedRun } from "../compare.ts";
import { say } from "../quantity.ts";
import type { Statement } from "../words.ts";
import { methodText, metricRows, spreadHeads, spreadRows } from "./rows.ts";
import { style } from "./style.ts";
import { intervalBar, timeChart } from "./time-chart.ts";

export interface ReportFacts {
  readonly madeMs: number;
  readonly version: string;
}

export function htmlOf(comparison: Comparison, { madeMs, version }: ReportFacts): string {
  const title = comparison.subjects.map(({ name }) => name).join(" against ");
  const made = new Date(madeMs).toISOString().replace("T", " ").slice(0, 16);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">${lockedIn}<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>
<h1>${comparison.subjects.map(({ name }, at) => `<span class="c${at % 8}"><i></i></span>${escapeHtml(name)}`).join(' <span class="soft">against</span> ')}</h1>
<p class="soft">Made ${made} UTC by gpulse ${escapeHtml(version)}.</p>
${caveats(comparison)}
${words(comparison)}
${means(comparison)}
${charts(comparison)}
${runs(comparison)}
${spread(comparison)}
<h2>How this was worked out</h2><p class="soft">${escapeHtml(methodText(comparison))}</p>
</body></html>
`;
}

function caveats({ caveats: all }: Comparison): string {
  if (all.length === 0) return "";
  return `<ul class="caveats">${all.map(({ level, sentence }) => `<li class="${escapeHtml(level)}"><b>${level === "refused" ? "Refused" : level === "warning" ? "Warning" : "Note"}</b> ${escapeHtml(sentence)}</li>`).join("")}</ul>`;
}

function words({ statements }: Comparison): string {
  const of = (pick: (one: Statement) => boolean, heading: string): string => {
    const found = statements.filter(pick);
    if (found.length === 0) return "";
    return `<h2>${heading}</h2><ul class="words">${found.map(({ text, headline }) => `<li${headline ? ' class="headline"' : ""}>${escapeHtml(text)}</li>`).join("")}</ul>`;
  };
  return (
    of(({ verdict }) => verdict === "real", "Real differences") +
    of(({ verdict }) => verdict === "noise" || verdict === "same", "Noise") +
    of(({ verdict }) => verdict === "untold", "Cannot be told")
  );
}

function means(comparison: Comparison): string {
  const { subjects } = comparison;
  const [first, ...others] = subjects.map(({ name }) => escapeHtml(name));
  const heads = [
    '<th class="t">metric</th>',
    ...subjects.map(
      ({ name, runs: own }, at) =>
        `<th><span class="c${at % 8}"><i></i></span>${escapeHtml(name)}, ${own.length} repeat${own.length === 1 ? "" : "s"}</th>`,
    ),
    ...others.map(
      (name) =>
        `<th>${name} against ${first ?? ""}</th><th>95 % interval</th><th></th><th class="t">verdict</th>`,
    ),
  ];
  const rows = metricRows(comparison).map(({ metric, title, means: cells, differences }) => {
    const shown = differences.map((cell, at) => {
      const found = metric.differences[at];
      const { low, high, as, amount = 0, ratio = 0 } = found ?? { as: metric.as };
      const middle = as === "ratio" ? ratio : amount;
      const verdict = escapeHtml(found?.verdict ?? "");
      const bar =
        low === undefined || high === undefined || found?.verdict === "same"
          ? ""
          : intervalBar(low, high, middle, Math.max(Math.abs(low), Math.abs(high)));
      return `<td>${escapeHtml(cell.difference)}</td><td>${escapeHtml(cell.interval)}</td><td class="${verdict}">${bar}</td><td class="t ${verdict}" title="${escapeHtml(cell.why ?? "")}">${escapeHtml(cell.verdict)}</td>`;
    });
    return `<tr${metric.headline ? ' class="headline"' : ""}><th class="t" scope="row">${escapeHtml(title)}</th>${cells.map((cell) => (cell.startsWith("n/a") ? `<td class="soft" title="${escapeHtml(cell)}">n/a</td>` : `<td>${escapeHtml(cell)}</td>`)).join("")}${shown.join("")}</tr>`;
  });
  return `<h2>Means over repeats, with 95 % intervals</h2>${table(heads, rows)}`;
}

function charts({ curves, metrics, subjects }: Comparison): string {
  const drawn = curves.map((curve) => {
    const metric = metrics.find(({ key }) => key === curve.metric);
    return metric === undefined ? "" : timeChart(metric.title, metric.unit, curve);
  });
  if (drawn.every((one) => one === "")) return "";
  const legend = subjects
    .map(({ name }, at) => `<span class="c${at % 8}"><i></i></span>${escapeHtml(name)}`)
    .join(" ");
  return `<h2>Every run from its start</h2><p class="soft">${legend}</p><div class="charts">${drawn.join("")}</div>`;
}

function runs(comparison: Comparison): string {
  const heads = ["subject", "run", "GPUs", "started (UTC)", "duration", "work", "power is of"].map(
    (text) => `<th class="t">${text}</th>`,
  );
  const row = (name: string, at: number, run: ComparedRun): string =>
    `<tr>${[
      `<span class="c${at % 8}"><i></i></span>${escapeHtml(name)}`,
      escapeHtml(run.name),
      escapeHtml(
        [
          ...new Set(
            run.gpus.map(
              (gpu) => `${gpu.model}${gpu.simulated ? " (simulated)" : ""} on ${gpu.host}`,
            ),
          ),
        ].join(", "),
      ),
      new Date(run.startMs).toISOString().replace("T", " ").slice(0, 19),
      say(run.seconds, "seconds"),
      "why" in run.work
        ? `<span class="soft">n/a: ${escapeHtml(run.work.why)}</span>`
        : `${escapeHtml(String(Number(run.work.amount.toPrecision(8))))} ${escapeHtml(run.work.unit)}`,
      escapeHtml([...new Set(run.gpus.map(({ power }) => power))].join(", ")),
    ]
      .map((cell) => `<td class="t">${cell}</td>`)
      .join("")}</tr>`;
  const rows = comparison.subjects.flatMap(({ name, runs: own }, at) =>
    own.map((run) => row(name, at, run)),
  );
  return `<h2>${comparison.basis === "runs" ? "The runs" : "The stretches of time"}</h2>${table(heads, rows)}`;
}

function spread(comparison: Comparison): string {
  const heads = ["metric", "subject", "run"]
    .map((text) => `<th class="t">${text}</th>`)
    .concat(spreadHeads.map((text) => `<th>${text}</th>`));
  const rows = spreadRows(comparison).map(
    ({ title, unit, subject, run, cells }) =>
      `<tr><td class="t">${escapeHtml(`${title} (${unit})`)}</td><td class="t"><span class="c${subject % 8}"><i></i></span>${escapeHtml(comparison.subjects[subject]?.name ?? "")}</td><td class="t">${escapeHtml(run)}</td>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join("")}</tr>`,
  );
  return `<h2>Readings of every run</h2><p class="soft">Percentiles are by time: for 1 % of the run the reading was at or below p1.</p>${table(heads, rows)}`;
}

const table = (heads: readonly string[], rows: readonly string[]): string =>
  `<div class="wrap"><table><thead><tr>${heads.join("")}</tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`;
