/** Parsers of /proc files about the machine that do not change while it runs. Pure. A missing value is undefined, never 0. */

export interface CpuInfo {
  readonly model: string | undefined;
  readonly vendor: string | undefined;
  readonly microcode: string | undefined;
  readonly threads: number;
  /** Undefined if the processor does not report sockets and cores, as on ARM. */
  readonly cores: number | undefined;
  readonly sockets: number | undefined;
}

/** `/proc/cpuinfo`: one paragraph of `key : value` lines per thread. */
export function parseCpuinfo(text: string): CpuInfo | undefined {
  const first = (key: string): string | undefined =>
    new RegExp(`^${key}\\s*: (.{1,200})$`, "m").exec(text)?.[1]?.trim().replace(/\s+/g, " ");
  const sockets = new Set<string>();
  const cores = new Set<string>();
  let threads = 0;
  let socket = "";
  for (const [, key, value = ""] of text.matchAll(
    /^(processor|physical id|core id)\s*: (\d{1,6})$/gm,
  )) {
    if (key === "processor") threads++;
    else if (key === "physical id") sockets.add((socket = value));
    else cores.add(`${socket}/${value}`);
  }
  if (threads === 0) return undefined;
  return {
    model: first("model name") ?? first("Model") ?? first("Hardware") ?? first("cpu model"),
    vendor: first("vendor_id"),
    microcode: first("microcode"),
    threads,
    cores: cores.size === 0 ? undefined : cores.size,
    sockets: sockets.size === 0 ? undefined : sockets.size,
  };
}

/** `MemTotal:       24684100 kB`, in bytes by name; counts without a unit (`HugePages_Total: 8`) stay unchanged. */
export function parseMeminfo(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [, name, value, unit] of text.matchAll(/^([\w()]{1,40}): +(\d{1,15})( kB)?$/gm))
    if (name !== undefined) values.set(name, Number(value) * (unit === undefined ? 1 : 1_024));
  return values;
}

/** `PRETTY_NAME="Debian GNU/Linux 13 (trixie)"` of /etc/os-release. */
export function parseOsRelease(text: string): string | undefined {
  return /^PRETTY_NAME="?([^"\n]{1,200})"?$/m.exec(text)?.[1];
}

/** One value of `/proc/PID/status`. */
export function statusValue(text: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s+(.{1,900})$`, "m").exec(text)?.[1]?.trim();
}

/** All numbers of `0-3,8,10-11`; an invalid range is ignored. */
export function parseCpuList(text: string): number[] {
  const numbers: number[] = [];
  for (const part of text.trim().split(",")) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim());
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    for (let number = first; number <= last && numbers.length < 65_536; number++)
      numbers.push(number);
  }
  return numbers;
}

/** `48K`, `2048K`, `32M` in bytes. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,12})([KMG]?)$/.exec(text);
  if (match === null) return undefined;
  const unit = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }[match[2] ?? ""] ?? 1;
  return Number(match[1]) * unit;
}

/** The word in brackets of `always [madvise] never`. */
export const parseBracketed = (text: string): string | undefined =>
  /\[(\w{1,40})\]/.exec(text)?.[1];
