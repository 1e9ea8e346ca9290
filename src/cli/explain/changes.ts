/** Formats the series that changed in a range as a table. */
import { formatChangeValue } from "../../view/changes/quantity.ts";
import type { ChangeReport, SeriesChange } from "../../view/changes/report.ts";
import { alignColumns, plainText } from "../table.ts";

export function changesText(report: ChangeReport): string {
  const { subject, fromMs, toMs, sentence, changes, leftOut, lookedAt } = report;
  const head = `${plainText(subject.label)} from ${formatUtc(fromMs)} to ${formatUtc(toMs)} UTC\n`;
  const foot = `\nLooked at ${lookedAt.series} series of ${count(lookedAt.gpus, "GPU")} and ${count(lookedAt.peers, "peer")}.\n`;
  if (changes.length === 0) return `${head}${plainText(sentence)}\n${foot}`;
  const table = alignColumns([
    ["SERIES", "WHERE", "BEFORE", "AFTER", "SIGMAS", "PEERS", "SINCE"],
    ...changes.map((change) => [
      plainText(change.title),
      plainText(change.place),
      formatChangeValue(change.before, change.unit),
      afterText(change),
      change.sigmas === null ? "-" : change.sigmas.toFixed(0),
      change.peers === null
        ? "-"
        : `${formatChangeValue(change.peers.value, change.unit)}, ${change.peers.sigmas.toFixed(0)} sigmas apart`,
      formatUtc(change.sinceMs).slice(11),
    ]),
  ]);
  const more = leftOut === 0 ? "" : `and ${leftOut} more\n`;
  return `${head}${plainText(sentence)}\n\n${table}${more}${foot}`;
}

function afterText({ kind, after, unit }: SeriesChange): string {
  switch (kind) {
    case "moved":
      return formatChangeValue(after, unit);
    case "grew":
      return `+${formatChangeValue(after, unit)}`;
    case "stopped":
      return "ended";
    case "began":
      return "began";
  }
}

const formatUtc = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;
