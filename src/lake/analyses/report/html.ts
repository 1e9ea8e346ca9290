/** A report in one file: tables and charts, in the reader's light or dark mode, without any external resource. Pure. */
import type { AnalysisResult, ResultColumn } from "../analysis.ts";
import { chartSvg, escapeHtml, contentSecurityMeta } from "./chart.ts";
import { chartsOf } from "./charts.ts";
import { cellText, headOf, countOmittedRows, tableOf } from "./text.ts";

export interface AnalysisReportFacts {
  readonly input: string;
  readonly madeMs: number;
  readonly version: string;
  readonly timezone: string;
}

const style = `
:root{color-scheme:light dark;--ink:#1b2330;--soft:#5b6675;--line:#dde2e8;--paper:#fff;--card:#f6f8fa;
--c0:#2563eb;--c1:#d97706;--c2:#059669;--c3:#dc2626;--c4:#7c3aed;--c5:#0891b2;--c6:#be185d;--c7:#65730b}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#2b3442;--paper:#11161d;--card:#182029;
--c0:#6ea8ff;--c1:#f5b24a;--c2:#3ecf9a;--c3:#ff7b72;--c4:#b794ff;--c5:#4fd1e8;--c6:#ff7ab6;--c7:#c3d14a}}
body{margin:0 auto;padding:2rem 1rem 4rem;max-width:72rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{margin:0 0 .25rem;font-size:1.6rem}h2{margin:2.5rem 0 .25rem;font-size:1.2rem}p{margin:.25rem 0 1rem;color:var(--soft)}
nav a{margin-right:1rem;color:var(--c0)}
.wrap{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{background:var(--card);color:var(--soft);font-weight:600}tr:last-child td{border-bottom:0}
.t{text-align:left}.none{color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem;margin:1rem 0}
figure{margin:0;padding:.75rem;border:1px solid var(--line);border-radius:8px;background:var(--card)}
figcaption{font-weight:600;font-size:13px}svg{width:100%;height:auto;display:block}
.grid{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}
path{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}rect,.dot{fill:currentColor}
.legend{display:flex;flex-wrap:wrap;gap:.25rem .9rem;margin:.5rem 0 0;font-size:12px}
.legend i{display:inline-block;width:.7rem;height:.2rem;margin-right:.35rem;vertical-align:middle;background:currentColor}
${Array.from({ length: 8 }, (_, place) => `.c${place}{color:var(--c${place})}`).join("")}
@media print{body{max-width:none;padding:0}.wrap{overflow:visible}}`;

export function htmlOf(results: readonly AnalysisResult[], facts: AnalysisReportFacts): string {
  const made = new Date(facts.madeMs).toISOString().replace("T", " ").slice(0, 16);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">${contentSecurityMeta}<meta name="viewport" content="width=device-width,initial-scale=1">
<title>GPU report</title><style>${style}</style></head><body>
<h1>GPU report</h1>
<p>Of ${escapeHtml(facts.input)}, made ${made} UTC by gpulse ${escapeHtml(facts.version)}. Days and hours in ${escapeHtml(facts.timezone)}.</p>
<nav>${results.map(({ name, title }) => `<a href="#${name}">${escapeHtml(title)}</a>`).join("")}</nav>
${results.map(section).join("\n")}
</body></html>
`;
}

function section(result: AnalysisResult): string {
  const charts = chartsOf(result).map(chartSvg).join("");
  const left = countOmittedRows(result);
  return `<section id="${result.name}"><h2>${escapeHtml(result.title)}</h2>
${result.rows.length === 0 ? "<p>Nothing in this range.</p>" : `${charts === "" ? "" : `<div class="charts">${charts}</div>`}${table(result)}`}
${left === 0 ? "" : `<p>${left} more rows: ask for JSON or CSV to have them all.</p>`}</section>`;
}

function table(result: AnalysisResult): string {
  const [head = [], ...rows] = tableOf(result);
  const shown = result.columns.filter((column) => head.includes(headOf(column)));
  const kind = (at: number): string => (shown[at]?.kind === "text" ? ' class="t"' : "");
  const heads = head.map(
    (name, at) =>
      `<th scope="col"${kind(at)} title="${escapeHtml(shown[at]?.help ?? "")}">${escapeHtml(name)}</th>`,
  );
  const lines = rows.map(
    (row) =>
      `<tr>${row.map((cell, at) => (cell === absent(shown[at]) ? '<td class="none">–</td>' : `<td${kind(at)}>${escapeHtml(cell)}</td>`)).join("")}</tr>`,
  );
  return `<div class="wrap"><table><thead><tr>${heads.join("")}</tr></thead><tbody>${lines.join("")}</tbody></table></div>`;
}

const absent = (column: ResultColumn | undefined): string | undefined =>
  column === undefined ? undefined : cellText(null, column);
