/**
 * Parses `nvidia-smi pmon -c 1` into each process's share of its GPU's time, by `GPU/pid`. Names and units come in two lines that are
 * repeated now and then, followed by a row per process with `-` for missing values. Pure, and never throws.
 *
 *     # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
 *     # Idx           #    C/G      %      %      %      %      %      %    name
 *         0        507     C     98     24      -      -      -      -    python3
 */
import { readCell } from "./value.ts";

const maxLines = 65_536;

export const shareKey = (gpu: number, pid: number): string => `${gpu}/${pid}`;

/** A process that did nothing in the period has `-`, so it has no share. */
export function parsePmon(text: string): Map<string, number> {
  const shares = new Map<string, number>();
  let names: readonly string[] = [];
  for (const line of text.split("\n", maxLines)) {
    const cells = line.trim().split(/\s+/);
    if (cells[0] === "#") {
      if (cells[1] === "gpu") names = cells.slice(1);
      continue;
    }
    if (!/^\d{1,4}$/.test(cells[0] ?? "") || cells.length < names.length) continue;
    const pid = cells[names.indexOf("pid")] ?? "";
    const share = readCell(cells[names.indexOf("sm")] ?? "", "ratio");
    if (/^\d{1,10}$/.test(pid) && typeof share === "number")
      shares.set(shareKey(Number(cells[0]), Number(pid)), share);
  }
  return shares;
}
