/** Parsers of the files of a version 2 cgroup. Pure. `max` means that there is no limit, so it is not a number. */

/** `usage_usec 123` lines by name. */
export function parseFlatKeyed(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [, key, value] of text.matchAll(/^([a-z_.]{1,60}) (\d{1,20})$/gm))
    if (key !== undefined) values.set(key, Number(value));
  return values;
}

/** `200000 100000` is two cores; `max 100000` is no limit. */
export function parseCpuMax(text: string): number | "none" | undefined {
  const match = /^(max|\d{1,15}) (\d{1,15})$/.exec(text);
  if (match === null) return undefined;
  if (match[1] === "max") return "none";
  const period = Number(match[2]);
  return period > 0 ? Number(match[1]) / period : undefined;
}

/** A number of bytes, or `max`. */
export function parseLimit(text: string): number | "none" | undefined {
  if (text === "max") return "none";
  return /^\d{1,20}$/.test(text) ? Number(text) : undefined;
}

export interface IoCounts {
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/**
 * `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`, one line per disk; stacked devices are listed only if the I/O is charged
 * to them.
 */
export function parseIoStat(text: string): IoCounts {
  const sums = { rbytes: 0, wbytes: 0, rios: 0, wios: 0 };
  for (const [, key, value] of text.matchAll(/ (rbytes|wbytes|rios|wios)=(\d{1,20})(?![^\s])/g))
    sums[key as keyof typeof sums] += Number(value);
  return { readBytes: sums.rbytes, writtenBytes: sums.wbytes, reads: sums.rios, writes: sums.wios };
}

/** Process ids, one per line; the lowest serves as the first process. */
export function lowestPid(text: string): number | undefined {
  let lowest: number | undefined;
  for (const [pid] of text.matchAll(/^[1-9]\d{0,9}$/gm))
    if (lowest === undefined || Number(pid) < lowest) lowest = Number(pid);
  return lowest;
}
