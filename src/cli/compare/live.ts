/** Requests a comparison of the history from a hub. */
import type { Comparison } from "../../runs/compare/compare.ts";
import { clientAccess, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { parseTimeMs } from "../../config/time.ts";
import { HubClient } from "../hub-client.ts";
import type { CompareFlags } from "./run.ts";

const usualMs = 3_600_000;

export async function fetchComparison(flags: CompareFlags, io: CommandIo): Promise<Comparison> {
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const toMs = readTime("--to", flags.to) ?? Date.now();
  const sinceMs = flags.since === undefined ? usualMs : parseDurationMs(flags.since);
  if (sinceMs === undefined || sinceMs <= 0)
    throw new GpulseError(
      "USAGE",
      `--since must be a duration such as 1h, not "${flags.since ?? ""}".`,
    );
  const fromMs = readTime("--from", flags.from) ?? toMs - sinceMs;
  const params = new URLSearchParams({
    start: String(fromMs / 1_000),
    end: String(toMs / 1_000),
  });
  for (const gpu of flags.gpu ?? []) params.append("gpu", gpu);
  for (const host of flags.host ?? []) params.append("host", host);
  if (flags.workQuery !== undefined) params.set("work", flags.workQuery);
  if (flags.unit !== undefined) params.set("unit", flags.unit);
  const { status, body } = await client.call("GET", `/api/compare?${params.toString()}`);
  const answer = (body ?? {}) as {
    readonly data?: Comparison;
    readonly errorType?: string;
    readonly error?: string;
  };
  if (answer.errorType === "not_found")
    throw new GpulseError("SUBJECT_UNKNOWN", answer.error ?? "The hub does not know it.");
  if (status !== 200 || answer.data?.format !== "gpulse-comparison" || answer.data.version !== 2)
    throw new GpulseError(
      "QUERY_FAILED",
      answer.error ?? "The hub cannot compare. Update the hub.",
    );
  return answer.data;
}

function readTime(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const ms = parseTimeMs(given);
  if (ms === undefined)
    throw new GpulseError(
      "USAGE",
      `${flag} must be a time such as 2026-01-31T14:00:00Z, not "${given}".`,
    );
  return ms;
}
