/** A job as one HTML file without scripts or external references, to attach to a mail or a ticket. */
import type { JobHour, JobRecord } from "../../runs/jobs/record.ts";
import { hourMs } from "../../runs/jobs/record.ts";
import { jobFacts, type JobPrice, kilowattHours, stretchRows } from "./text.ts";
import { judgeJob } from "./verdict.ts";

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (one) => escapes[one] ?? one);

/** The content of the page's only style element, for the hash in its content security policy. */
export const reportStyle = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}th{font-weight:600}
.verdict{font-size:1.1rem;border-left:4px solid #2a6;padding-left:.8rem}.wide{overflow-x:auto}svg{width:100%;height:8rem}
@media(prefers-color-scheme:dark){body{color:#eee;background:#151515}th,td{border-color:#444}}`;

/** @param hours usage per hour, for the chart */
export function jobHtml(
  job: JobRecord,
  hours: readonly JobHour[],
  price?: JobPrice,
  nowMs?: number,
): string {
  const title = `Job ${job.scheduler?.id ?? job.name}`;
  const facts = jobFacts(job, price, nowMs).map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  const [head = [], ...rows] = stretchRows(job.stretches);
  const cells = (tag: string, row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join("")}</tr>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${reportStyle}</style></head><body>
<h1>${escapeHtml(title)}</h1>
<p class="verdict">${escapeHtml(judgeJob(job).join(" "))}</p>
<table>${facts.join("\n")}</table>
${chart(hours)}
<h2>GPUs</h2>
<div class="wide"><table><thead>${cells("th", head)}</thead><tbody>${rows.map((row) => cells("td", row)).join("\n")}</tbody></table></div>
</body></html>
`;
}

/** Useful and idle GPU-seconds of each hour, as bars. */
function chart(hours: readonly JobHour[]): string {
  const sorted = hours.toSorted((left, right) => left[0] - right[0]);
  const [first] = sorted;
  const most = Math.max(...sorted.map(([, seconds]) => seconds));
  if (first === undefined || sorted.length < 2 || most <= 0) return "";
  const count = (sorted.at(-1)?.[0] ?? first[0]) - first[0] + 1;
  const bars = sorted.map(([hour, seconds, useful, , joules]) => {
    const x = (hour - first[0]) * 10;
    const [all, good] = [(100 * seconds) / most, (100 * useful) / most];
    const time = new Date(hour * hourMs).toISOString().slice(0, 16);
    return `<g><title>${time}Z: ${Math.round((100 * useful) / Math.max(1, seconds))} % useful, ${kilowattHours(joules)}</title><rect x="${x}" y="${100 - all}" width="9" height="${all}" fill="#c9b458"/><rect x="${x}" y="${100 - good}" width="9" height="${good}" fill="#2a9d5c"/></g>`;
  });
  return `<h2>GPU time by hour</h2><p>Green: useful. Yellow: held without work.</p>
<svg viewBox="0 0 ${count * 10} 100" preserveAspectRatio="none" role="img" aria-label="GPU time by hour">${bars.join("")}</svg>`;
}
