/** `nvidia-smi pmon -c 1` to each process's share of its GPU's time, by `GPU/pid`. Its form is in `monitor.ts`. Pure, and never throws. */
import { parseMonitor } from "./monitor.ts";
import { readCell } from "./value.ts";

export const shareKey = (gpu: number, pid: number): string => `${gpu}/${pid}`;

/** A process that did nothing in the period has `-` there, and no share. */
export function parsePmon(text: string): Map<string, number> {
  const shares = new Map<string, number>();
  for (const { gpu, told } of parseMonitor(text)) {
    const pid = told("pid");
    const share = readCell(told("sm") ?? "", "ratio");
    if (pid !== undefined && /^\d{1,10}$/.test(pid) && typeof share === "number")
      shares.set(shareKey(gpu, Number(pid)), share);
  }
  return shares;
}
