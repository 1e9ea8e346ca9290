/** The Lambda function: converts a GPU-Z log uploaded to a bucket into Parquet, a summary and, if configured, samples sent to a hub. */
import { version } from "../command/process-io.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { createLog } from "../../base/log.ts";
import { objectsOf } from "./event.ts";
import { processObject } from "./process.ts";
import { readSettings } from "./settings.ts";
import type { LogSummary } from "./summary.ts";

/** The context that Lambda passes. */
export interface CallContext {
  getRemainingTimeInMillis?(): number;
}

export interface LambdaResult {
  readonly processed: readonly LogSummary[];
  /** Keys that are not logs, or the function's own results. */
  readonly skipped: readonly string[];
}

/** Time reserved to report a timeout before Lambda ends the function. */
const graceMs = 2_000;
const longestMs = 15 * 60_000;

/**
 * Rejects if any object failed, after trying all of them: Lambda then sends the event again, and completed objects are not
 * processed twice.
 */
export async function handler(event: unknown, call: CallContext = {}): Promise<LambdaResult> {
  const log = createLog({
    level: "info",
    json: true,
    colour: false,
    nowMs: Date.now,
    write: (line) => process.stdout.write(line),
  });
  const processed: LogSummary[] = [];
  const skipped: string[] = [];
  const failures: Error[] = [];
  try {
    const settings = readSettings(process.env);
    const leftMs = call.getRemainingTimeInMillis?.() ?? longestMs;
    const signal = AbortSignal.timeout(Math.max(1, leftMs - graceMs));
    const { env } = process;
    const surroundings = { env, log, nowMs: Date.now, random: Math.random, version, signal };
    for (const object of objectsOf(event)) {
      const { bucket, key } = object;
      if (!isLog(key) || isOurs(bucket, key, settings.output)) {
        log.info("not processed: no log", { bucket, key });
        skipped.push(key);
        continue;
      }
      try {
        const done = await processObject(object, settings, surroundings);
        const { rows, unusable, anomalies } = done;
        log.info("processed", { bucket, key, rows, unusable, anomalies: anomalies.rows });
        processed.push(done);
      } catch (thrown) {
        failures.push(logFailure(thrown, log, { bucket, key }));
      }
    }
  } catch (thrown) {
    failures.push(logFailure(thrown, log, {}));
  }
  const [first] = failures;
  if (first !== undefined) throw first;
  return { processed, skipped };
}

const isLog = (key: string): boolean => /\.(txt|log|csv)$/i.test(key);

/** The function's own results must not trigger it again, which would loop for ever. */
function isOurs(bucket: string, key: string, output: string): boolean {
  const url = new URL(output);
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  return url.hostname === bucket && prefix !== "" && key.startsWith(`${prefix}/`);
}

/** Logs gpulse's own errors only: a library's error may contain a signed URL. */
function logFailure(
  thrown: unknown,
  log: ReturnType<typeof createLog>,
  where: Readonly<Record<string, string>>,
): Error {
  const error =
    thrown instanceof GpulseError
      ? thrown
      : new GpulseError(
          "FILES_FAILED",
          `The upload could not be processed: ${formatError(thrown)}.`,
        );
  log.error(error.message, { code: error.code, ...where });
  error.message = `${error.code}: ${error.message}`;
  return error;
}
