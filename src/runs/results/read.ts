/** Reads the result that a benchmark wrote to a file or folder, and checks that it belongs to the run. */
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { formatError } from "../../base/error.ts";
import type { RunSpan } from "../run.ts";
import { isLoadgenDetail, parseLoadgenDetail } from "./loadgen.ts";
import type { BenchmarkResult, ParsedResult } from "./result.ts";
import { parseServingResult } from "./serving.ts";

const mostBytes = 256 * 1024 * 1024;
/** File systems store times in steps of up to two seconds. */
const fileTimeStepMs = 2_000;
/** Tolerance between two programs that read the same clock. */
const clockSlackMs = 250;
const detailName = "mlperf_log_detail.txt";

/**
 * @param span when the command ran: an older file belongs to another run.
 * @param beganMs when the measurement began according to the output, if known.
 */
export async function readBenchmarkResult(
  file: string,
  span: RunSpan,
  beganMs: number | undefined,
): Promise<ParsedResult> {
  let text: string;
  try {
    const found = await resultFile(file);
    const { mtimeMs, size } = await stat(found);
    if (mtimeMs < span[0] - fileTimeStepMs)
      return { problem: "it is older than this run: the command did not write it" };
    if (size > mostBytes) return { problem: `it is larger than ${mostBytes} bytes` };
    text = await readFile(found, "utf8");
  } catch (thrown) {
    return { problem: `it cannot be read (${formatError(thrown)})` };
  }
  const parsed = isLoadgenDetail(text) ? parseLoadgenDetail(text) : parseServingResult(text);
  return "problem" in parsed ? parsed : placed(parsed, span, beganMs);
}

/** LoadGen writes a folder; its summary has no times, but the log beside it does. */
async function resultFile(file: string): Promise<string> {
  if ((await stat(file)).isDirectory()) return path.join(file, detailName);
  return path.basename(file) === "mlperf_log_summary.txt"
    ? path.join(path.dirname(file), detailName)
    : file;
}

/** The window has to lie within the run: otherwise the clocks disagree, or the result is of another run. */
function placed(
  result: BenchmarkResult,
  [startedMs, endedMs]: RunSpan,
  beganMs: number | undefined,
): ParsedResult {
  const { seconds } = result;
  const window =
    result.window ??
    (seconds === undefined || beganMs === undefined
      ? undefined
      : ([beganMs, beganMs + seconds * 1_000] as const));
  if (window === undefined)
    return seconds === undefined
      ? result
      : {
          ...result,
          notes: [
            ...result.notes,
            `${result.tool} says how long it measured (${seconds} s) and not when: energy and rates are of the whole command.`,
          ],
        };
  const [from, to] = window;
  if (from < startedMs - clockSlackMs || to > endedMs + clockSlackMs)
    return {
      problem:
        `it measured from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}, and the command ran from ` +
        `${new Date(startedMs).toISOString()} to ${new Date(endedMs).toISOString()}: the clocks disagree, or it is of another run`,
    };
  return { ...result, window: [Math.max(from, startedMs), Math.min(to, endedMs)] };
}
