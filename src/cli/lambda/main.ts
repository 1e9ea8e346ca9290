/** The Lambda function: an upload of a GPU-Z log to a bucket becomes Parquet, a summary and, where asked, samples of a hub. */
import { version } from "../command/process-io.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { createLog } from "../../base/log.ts";
import { objectsOf } from "./event.ts";
import { processObject } from "./process.ts";
import { readSettings } from "./settings.ts";
import type { LogSummary } from "./summary.ts";

/** What Lambda says of the call. */
export interface CallContext {
  getRemainingTimeInMillis?(): number;
}

export interface LambdaResult {
  readonly processed: readonly LogSummary[];
  /** Keys that are no logs, or our own results. */
  readonly skipped: readonly string[];
}

/** To say what is wrong before the function is ended. */
const graceMs = 2_000;
const longestMs = 15 * 60_000;

/** Rejects where any object failed, once all were tried: Lambda sends the event again, and what is done is not done twice. */
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

/** A result that started the function again would go round for ever. */
function isOurs(bucket: string, key: string, output: string): boolean {
  const url = new URL(output);
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  return url.hostname === bucket && prefix !== "" && key.startsWith(`${prefix}/`);
}

/** Only what we say ourselves: a library's error may hold a signed address. */
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
