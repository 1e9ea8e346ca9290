/**
 * A comparison in one file: first the verdict, then differences, tables and charts; in the reader's light or dark mode, without
 * external resources. Printed, it is one page: verdict, warnings, real differences, means and two charts. Pure.
 */
import { escapeHtml, contentSecurityMeta } from "../../../lake/analyses/report/chart.ts";
import type { Comparison, ComparedRun } from "../compare.ts";
import { formatMeasurement } from "../quantity.ts";
import { summarizeComparison, verdictHeadings } from "../words.ts";
import {
  boundTexts,
  methodText,
  metricRows,
  repeatsText,
  spreadHeads,
  spreadRows,
} from "./rows.ts";
import { intervalBar, timeChart } from "./time-chart.ts";

/** The style sheet, for screen and print. */
const style = `
:root{color-scheme:light dark;--ink:#1b2330;--soft:#556070;--line:#dde2e8;--paper:#fff;--card:#f6f8fa;--bad:#b42318;--warn:#8a5a00;--good:#0b6b4f;
--c0:#2563eb;--c1:#c2620a;--c2:#0b7a55;--c3:#be185d;--c4:#7c3aed;--c5:#0e7490;--c6:#65730b;--c7:#475569}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#2b3442;--paper:#11161d;--card:#182029;--bad:#ff8f85;--warn:#f5b24a;--good:#3ecf9a;
--c0:#6ea8ff;--c1:#f5a04a;--c2:#3ecf9a;--c3:#ff7ab6;--c4:#b794ff;--c5:#4fd1e8;--c6:#c3d14a;--c7:#a3b1c2}}
body{margin:0 auto;padding:2rem 1rem 4rem;max-width:96rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
h1{margin:0 0 .25rem;font-size:1.5rem}h2{margin:2rem 0 .5rem;font-size:1.1rem}.soft{color:var(--soft)}
i{display:inline-block;width:.8rem;height:.25rem;margin-right:.35rem;vertical-align:middle;background:currentColor;border-radius:1px}
.verdict{margin:.75rem 0;padding:.6rem .9rem;border-left:4px solid var(--soft);background:var(--card);font-size:1.15rem}.verdict.clear{border-color:var(--good)}.verdict.likely{border-color:var(--warn)}
ul{margin:0;padding:0;list-style:none}.words li{padding:.15rem 0}.words .headline{font-size:1.15rem;font-weight:600}
.caveats{margin:1rem 0;padding:.5rem .75rem;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.caveats li{padding:.15rem 0}.caveats .refused b{color:var(--bad)}.caveats .warning b{color:var(--warn)}.caveats .note b{color:var(--soft)}
.wrap{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .45rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{max-width:14rem;vertical-align:bottom}.name,.cards td.t>span{overflow-wrap:anywhere}.h{display:none}td>b{font-weight:inherit}.n,.wide td{white-space:nowrap}td.t.real,td.t.undecided,td.t.same,td.t.not-compared{white-space:nowrap}
thead th{background:var(--card);color:var(--soft);font-weight:600}tbody th{font-weight:400}tbody tr:last-child>*{border-bottom:0}
tr.headline>*{font-weight:600}.t{text-align:left}td.real{color:var(--good);font-weight:600}td.undecided,td.same,td.not-compared{color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.75rem}
figure{margin:0;padding:.6rem;border:1px solid var(--line);border-radius:8px;break-inside:avoid}
figcaption{font-weight:600;font-size:13px}svg{width:100%;height:auto;display:block}
.grid{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}
path{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round;opacity:.85}
.bar{width:4.5rem;height:.75rem;stroke:currentColor;fill:currentColor;stroke-width:2}
${Array.from({ length: 8 }, (_, place) => `.c${place}{color:var(--c${place})}`).join("")}
@media screen and (max-width:60rem){.cards{border:0;overflow:visible}.cards table,.cards tbody{display:block}.cards thead{display:none}
.cards tr{display:block;margin:0 0 .6rem;padding:.4rem .6rem;border:1px solid var(--line);border-radius:8px}
.cards tr>*{display:flex;justify-content:space-between;gap:1rem;padding:.1rem 0;border:0;text-align:right}.cards tr>th{font-weight:600}
.cards .h{display:block;flex:1 1 40%;color:var(--soft);font-weight:400;text-align:left;overflow-wrap:anywhere}.cards .picture{display:none}}
.paper{display:none}
@page{size:A4;margin:12mm}
@media print{:root{color-scheme:light}body{max-width:none;padding:0;font-size:10px;line-height:1.35}h1{font-size:15px}h2{margin:.6rem 0 .2rem;font-size:11px;break-after:avoid}p{margin:.25rem 0}
.screen{display:none}.paper{display:block}.verdict{margin:.4rem 0;padding:.4rem .6rem;font-size:13px}.words li,.caveats li{padding:0}.words .headline{font-size:11px}.caveats{margin:.4rem 0;padding:.3rem .5rem}
table{font-size:8.5px}th,td{padding:.12rem .3rem}.wrap{overflow:visible;border:0}tr{break-inside:avoid}
.charts{grid-template-columns:1fr 1fr;gap:.4rem}figure{padding:.3rem}figcaption{font-size:9px}figure:nth-child(n+3){display:none}}`;

export interface ComparisonReportFacts {
  readonly madeMs: number;
  readonly version: string;
}

export function htmlOf(comparison: Comparison, { madeMs, version }: ComparisonReportFacts): string {
  const title = comparison.subjects.map(({ name }) => name).join(" against ");
  const made = new Date(madeMs).toISOString().replace("T", " ").slice(0, 16);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">${contentSecurityMeta}<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>
<h1>${comparison.subjects.map(({ name }, at) => `<span class="c${at % 8}"><i></i></span>${escapeHtml(name)}`).join(' <span class="soft">against</span> ')}</h1>
<p class="soft">Made ${made} UTC by gpulse ${escapeHtml(version)}.</p>
${summary(comparison)}
${caveats(comparison)}
${words(comparison)}
${comparison.advice === undefined ? "" : `<p class="soft">${escapeHtml(comparison.advice.sentence)}</p>`}
${means(comparison)}
${charts(comparison)}
<div class="screen">${runs(comparison)}
${spread(comparison)}
<h2>How this was worked out</h2><p class="soft">${escapeHtml(methodText(comparison))}</p></div>
<p class="paper soft">95 % intervals over repeats, Welch's t, each metric by itself. Power is what the devices' own sensors say: not at the wall, and not MLPerf power. Every run, chart and percentile is in the HTML file that this page was printed from.</p>
</body></html>
`;
}

/** The verdict and the largest difference of the headline metric. */
function summary({ subjects, metrics }: Comparison): string {
  const found = summarizeComparison(subjects, metrics);
  if (found === undefined) return "";
  return `<p class="verdict ${found.grade.toLowerCase().replace(" ", "-")}"><b>${found.grade}.</b> ${escapeHtml(found.text)}</p>`;
}

function caveats({ caveats: all }: Comparison): string {
  if (all.length === 0) return "";
  return `<ul class="caveats">${all.map(({ level, sentence }) => `<li class="${escapeHtml(level)}"><b>${level === "refused" ? "Refused" : level === "warning" ? "Warning" : "Note"}</b> ${escapeHtml(sentence)}</li>`).join("")}</ul>`;
}

function words({ statements }: Comparison): string {
  return verdictHeadings
    .map(([verdict, heading]) => {
      const found = statements.filter((one) => one.verdict === verdict);
      if (found.length === 0) return "";
      // In print, metrics without a difference are only in the table.
      const onPaper = verdict === "real" || verdict === "likely";
      return `<div${onPaper ? "" : ' class="screen"'}><h2>${heading}</h2><ul class="words">${found.map(({ text, headline }) => `<li${headline ? ' class="headline"' : ""}>${escapeHtml(text)}</li>`).join("")}</ul></div>`;
    })
    .join("");
}

/** The verdict is beside the metric, before values of unknown width, so that no screen cuts it off. */
function means(comparison: Comparison): string {
  const { subjects } = comparison;
  const [first = "", ...others] = subjects.map(({ name }) => name);
  const isOne = others.length === 1;
  const figureHeads = subjects.map(
    ({ name, runs: own }) => `${name}, ${repeatsText(comparison.basis, own.length)}`,
  );
  const against = others.map((name) => `${name} against ${first}`);
  const verdictHeads = others.map((name) => (isOne ? "verdict" : `${name}: verdict`));
  const heads = [
    '<th class="t">metric</th>',
    ...verdictHeads.map((text) => `<th class="t name">${escapeHtml(text)}</th>`),
    ...figureHeads.map(
      (text, at) =>
        `<th class="name"><span class="c${at % 8}"><i></i></span>${escapeHtml(text)}</th>`,
    ),
    ...against.map(
      (text) =>
        `<th class="name">${escapeHtml(text)}</th><th>95 % interval</th><th class="picture"></th>`,
    ),
  ];
  const rows = metricRows(comparison).map(({ metric, title, means: cells, differences }) => {
    const verdicts = differences.map((cell, at) => {
      const verdict = escapeHtml(metric.differences[at]?.verdict ?? "");
      return `<td class="t ${verdict}" title="${escapeHtml(cell.why ?? "")}">${headed(verdictHeads[at])}<b>${escapeHtml(cell.verdict)}</b></td>`;
    });
    const figures = cells.map((cell, at) =>
      cell.startsWith("n/a")
        ? `<td class="soft" title="${escapeHtml(cell)}">${headed(figureHeads[at])}n/a</td>`
        : `<td>${headed(figureHeads[at])}${unbroken(cell)}</td>`,
    );
    const compared = differences.map((cell, at) => {
      const found = metric.differences[at];
      const { low, high, as, amount = 0, ratio = 0 } = found ?? { as: metric.as };
      const middle = as === "ratio" ? ratio : amount;
      const bar =
        low === undefined || high === undefined || low === high
          ? ""
          : intervalBar(low, high, middle, Math.max(Math.abs(low), Math.abs(high)));
      return (
        `<td>${headed(against[at])}${unbroken(cell.difference)}</td>` +
        `<td>${headed("95 % interval")}${unbroken(cell.interval)}</td>` +
        `<td class="picture ${escapeHtml(found?.verdict ?? "")}">${bar}</td>`
      );
    });
    return `<tr${metric.headline ? ' class="headline"' : ""}><th class="t" scope="row">${escapeHtml(title)}</th>${[...verdicts, ...figures, ...compared].join("")}</tr>`;
  });
  return `<h2>${comparison.basis === "runs" ? "Means over repeats, with 95 % intervals" : "Means"}</h2>${table(heads, rows, "cards")}`;
}

/**
 * The column header inside a cell: displayed when a narrow screen turns the row into a card. Never an attribute, since names are
 * user input.
 */
const headed = (head: string | undefined): string =>
  `<span class="h">${escapeHtml(head ?? "")}</span>`;

/** Allows a line break before an interval in brackets, but not inside a number. */
const unbroken = (text: string): string =>
  text
    .split(/ (?=\()/)
    .map((part) => `<span class="n">${escapeHtml(part)}</span>`)
    .join(" ")
    .replace(/^.*$/, "<span>$&</span>");

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
  const names = [
    "subject",
    "run",
    "GPUs",
    "started (UTC)",
    "duration",
    "work",
    "bound by",
    "power is of",
  ];
  const heads = names.map((text) => `<th class="t">${text}</th>`);
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
      formatMeasurement(run.seconds, "seconds"),
      "why" in run.work
        ? `<span class="soft">n/a: ${escapeHtml(run.work.why)}</span>`
        : `${escapeHtml(String(Number(run.work.amount.toPrecision(8))))} ${escapeHtml(run.work.unit)}${run.mfu === undefined ? "" : `<br><span class="soft">${escapeHtml(run.mfu)}</span>`}`,
      boundsOf(run),
      escapeHtml([...new Set(run.gpus.map(({ power }) => power))].join(", ")),
    ]
      .map((cell, place) => `<td class="t">${headed(names[place])}<span>${cell}</span></td>`)
      .join("")}</tr>`;
  const rows = comparison.subjects.flatMap(({ name, runs: own }, at) =>
    own.map((run) => row(name, at, run)),
  );
  return `<h2>${comparison.basis === "runs" ? "The runs" : "The windows of time"}</h2>${table(heads, rows, "cards")}`;
}

function boundsOf(run: ComparedRun): string {
  const texts = boundTexts(run).map(escapeHtml);
  return texts.length === 0
    ? '<span class="soft">n/a: not enough is reported</span>'
    : texts.join("<br>");
}

function spread(comparison: Comparison): string {
  const heads = ["metric", "subject", "run"]
    .map((text) => `<th class="t">${text}</th>`)
    .concat(spreadHeads.map((text) => `<th>${text}</th>`));
  const rows = spreadRows(comparison).map(
    ({ title, unit, subject, run, cells }) =>
      `<tr><td class="t">${escapeHtml(`${title} (${unit})`)}</td><td class="t"><span class="c${subject % 8}"><i></i></span>${escapeHtml(comparison.subjects[subject]?.name ?? "")}</td><td class="t">${escapeHtml(run)}</td>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join("")}</tr>`,
  );
  return `<h2>Readings of every run</h2><p class="soft">Percentiles are by time: for 1 % of the run the reading was at or below p1.</p>${table(heads, rows, "wide")}`;
}

/**
 * `cards`: on a narrow screen a row becomes a card with its cells below each other. `wide`: numbers only, which scroll sideways.
 */
const table = (heads: readonly string[], rows: readonly string[], kind: "cards" | "wide"): string =>
  `<div class="wrap ${kind}"><table><thead><tr>${heads.join("")}</tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`;
