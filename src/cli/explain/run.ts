/** Runs `gpulse explain`: requests the explanation from a hub and prints it as text or JSON. */
import { GpulseError } from "../../base/error.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { parseTimeMs } from "../../config/time.ts";
import { changeReportSchema } from "../../view/changes/report.ts";
import {
  type ExplainedCause,
  type Explanation,
  explanationSchema,
} from "../../view/explain/explanation.ts";
import {
  formatEvidence,
  formatLookedAt,
  formatSigmas,
  formatSince,
} from "../../view/explain/quantity.ts";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { HubClient } from "../hub-client.ts";
import { alignColumns, plainText } from "../table.ts";
import { changesText } from "./changes.ts";

export interface ExplainFlags extends ClientFlags {
  readonly host?: string;
  readonly job?: string;
  readonly alert?: string;
  readonly at?: string;
  readonly from?: string;
  readonly to?: string;
  readonly url?: string;
  readonly json?: boolean;
}

export async function runExplain(
  gpu: string | undefined,
  flags: ExplainFlags,
  io: CommandIo,
): Promise<number> {
  const { host, job, alert } = flags;
  const asked = Object.entries({ gpu, host, job, alert }).flatMap(([name, id]) =>
    id === undefined ? [] : [[name, id] as const],
  );
  const [subject] = asked;
  if (subject === undefined || asked.length > 1)
    throw new GpulseError("USAGE", "Name one GPU, or one of --host, --job and --alert.");
  const query = new URLSearchParams({ [subject[0]]: subject[1] });
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  if (flags.from !== undefined || flags.to !== undefined) {
    const range = readRange(flags, subject[0], Date.now());
    for (const [name, ms] of Object.entries(range)) query.set(name, String(ms / 1_000));
    const report = await client.get(`/api/changes?${query.toString()}`, changeReportSchema);
    io.stdout.write(
      flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : changesText(report),
    );
    return 0;
  }
  if (flags.at !== undefined)
    query.set("time", String(readTime("--at", flags.at, Date.now()) / 1_000));
  const found = await client.get(`/api/explain?${query.toString()}`, explanationSchema);
  io.stdout.write(
    flags.json === true ? `${JSON.stringify(found, null, 2)}\n` : explanationText(found),
  );
  return 0;
}

/** Both ends of the range, in milliseconds. */
function readRange(
  { from, to, at }: ExplainFlags,
  kind: string,
  nowMs: number,
): { readonly from: number; readonly to: number } {
  if (from === undefined) throw new GpulseError("USAGE", "--to needs --from.");
  if (at !== undefined)
    throw new GpulseError(
      "USAGE",
      "--at is a time, --from and --to are a range: pass one of the two.",
    );
  if (kind === "alert")
    throw new GpulseError("USAGE", "--from takes a GPU, --host or --job, not --alert.");
  return {
    from: readTime("--from", from, nowMs),
    to: to === undefined ? nowMs : readTime("--to", to, nowMs),
  };
}

function readTime(flag: string, text: string, nowMs: number): number {
  const agoMs = /[a-z]$/.test(text) ? parseDurationMs(text) : undefined;
  const timeMs = agoMs === undefined ? parseTimeMs(text) : nowMs - agoMs;
  if (timeMs !== undefined) return timeMs;
  throw new GpulseError(
    "USAGE",
    `${flag} takes a time such as 2026-11-01T12:00:00Z, seconds since 1970, or how long ago, such as 30m, not ${JSON.stringify(text)}.`,
  );
}

function explanationText({ subject, timeMs, sentence, causes, lookedAt }: Explanation): string {
  const at = `${new Date(timeMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const head = `${plainText(subject.label)} at ${at}\n`;
  const foot = `\n${formatLookedAt(lookedAt)}\n`;
  if (causes.length === 0) return `${head}${plainText(sentence)}\n${foot}`;
  return `${head}${causes.map((cause, index) => causeText(cause, index + 1, timeMs)).join("")}${foot}`;
}

function causeText(
  { title, confidence, summary, sinceMs, isOlder, evidence, runbook }: ExplainedCause,
  place: number,
  timeMs: number,
): string {
  const since = `${isOlder ? "for at least" : "for"} ${formatSince(sinceMs, timeMs)}`;
  const numbers = alignColumns([
    ["METRIC", "VALUE", "USUAL", "SIGMAS", "QUERY"],
    ...evidence.map((one) => [
      one.metric,
      formatEvidence(one.value, one.unit),
      formatEvidence(one.usual, one.unit),
      formatSigmas(one),
      one.promql,
    ]),
  ]);
  const lines = [
    `${place}. ${title} (${Math.round(100 * confidence)} % sure, ${since})`,
    `   ${plainText(summary)}`,
    ...(evidence.length === 0
      ? []
      : numbers
          .trimEnd()
          .split("\n")
          .map((line) => `     ${plainText(line)}`)),
    `   Fix: ${runbook.step} (${runbook.href})`,
  ];
  return `\n${lines.join("\n")}\n`;
}
