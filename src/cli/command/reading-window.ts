/** `--window` of the commands that read this machine for a moment: stats, health and snapshot. */
import { GpulseError } from "../../base/error.ts";
import { checkValue } from "../../config/check.ts";
import { durationMs } from "../../config/fields.ts";
import type { CommandIo } from "./io.ts";

/** How long a slow source, such as nvidia-smi, may take beyond the window. */
export const slowSourceMs = 35_000;

/** @throws GpulseError if the flag is not a duration of at least `leastMs` */
export function parseWindowMs(flag: string, leastMs: number): number {
  const window = checkValue(durationMs(leastMs, 3_600_000), flag);
  if (window.ok) return window.value;
  throw new GpulseError(
    "USAGE",
    `--window ${window.problems[0]?.sentence ?? "is not understood."}`,
  );
}

/** Shows on a terminal that the command waits for a window of more than a second. */
export async function showReading<T>(
  { stderr }: Pick<CommandIo, "stderr">,
  windowMs: number,
  read: () => Promise<T>,
): Promise<T> {
  const isShown = stderr.isTTY === true && windowMs > 1_000;
  if (isShown) stderr.write(`reading for ${windowMs / 1_000} s …\r`);
  try {
    return await read();
  } finally {
    if (isShown) stderr.write("\u001b[2K\r");
  }
}
