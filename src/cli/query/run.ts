/** Runs `gpulse query`. */
import * as v from "valibot";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { checkValue } from "../../config/check.ts";
import { durationMs } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { parseTimeMs } from "../../config/time.ts";
import { HubClient, type NoteAnnotations } from "../hub-client.ts";
import { renderQueryCsv, renderQueryTable } from "./show.ts";

export interface QueryFlags extends ClientFlags {
  readonly url?: string;
  readonly time?: string;
  readonly since?: string;
  readonly step?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

const point = v.tuple([v.number(), v.string()]);
/** A bucket: a code for which of its bounds are inclusive, its bounds, its count. */
const bucket = v.tuple([v.number(), v.string(), v.string(), v.string()]);
const histogram = v.object({
  count: v.string(),
  sum: v.string(),
  buckets: v.optional(v.array(bucket), []),
});
const histogramPoint = v.tuple([v.number(), histogram]);
const metric = v.record(v.string(), v.string());
export const queryResponseSchema = v.variant("resultType", [
  v.object({
    resultType: v.literal("vector"),
    result: v.array(
      v.union([
        v.object({ metric, value: point }),
        v.object({ metric, histogram: histogramPoint }),
      ]),
    ),
  }),
  v.object({
    resultType: v.literal("matrix"),
    result: v.array(
      v.object({
        metric,
        values: v.optional(v.array(point), []),
        histograms: v.optional(v.array(histogramPoint)),
      }),
    ),
  }),
  v.object({ resultType: v.literal("scalar"), result: point }),
  v.object({ resultType: v.literal("string"), result: point }),
]);
export type HubQueryResponse = v.InferOutput<typeof queryResponseSchema>;

const defaultPoints = 100;

export async function runQuery(query: string, flags: QueryFlags, io: CommandIo): Promise<number> {
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const notes: { warnings?: readonly string[]; infos?: readonly string[] } = {};
  const note: NoteAnnotations = (kind, texts) => {
    notes[kind] = texts;
    for (const text of texts) io.stderr.write(`${text}\n`);
  };
  const endMs = flags.time === undefined ? Date.now() : readTime(flags.time);
  const sinceMs = readDuration("--since", flags.since);
  const stepMs =
    readDuration("--step", flags.step) ??
    Math.max(1_000, Math.ceil((sinceMs ?? 0) / defaultPoints / 1_000) * 1_000);
  const data =
    sinceMs === undefined
      ? await client.ask("/api/v1/query", { query, time: String(endMs / 1_000) }, note)
      : await client.ask(
          "/api/v1/query_range",
          {
            query,
            start: String((endMs - sinceMs) / 1_000),
            end: String(endMs / 1_000),
            step: String(stepMs / 1_000),
          },
          note,
        );
  if (flags.json === true) {
    const json = typeof data === "object" ? { ...data, ...notes } : data;
    io.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
    return 0;
  }
  const checked = v.safeParse(queryResponseSchema, data);
  if (!checked.success)
    throw new GpulseError(
      "QUERY_FAILED",
      "The response is not that of a gpulse hub. Check --url, or update the hub.",
    );
  io.stdout.write(
    flags.csv === true ? renderQueryCsv(checked.output) : renderQueryTable(checked.output),
  );
  return 0;
}

function readTime(given: string): number {
  const ms = parseTimeMs(given);
  if (ms === undefined)
    throw new GpulseError(
      "USAGE",
      `--time must be Unix seconds or a time such as 2026-01-01T00:00:00Z, not "${given}".`,
    );
  return ms;
}

function readDuration(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const checked = checkValue(durationMs(1, 100 * 365 * 86_400_000), given);
  if (!checked.ok)
    throw new GpulseError(
      "USAGE",
      `${flag} ${checked.problems[0]?.sentence ?? "is not understood."}`,
    );
  return checked.value;
}
