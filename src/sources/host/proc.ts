/** Parsers of /proc files. Pure. A value missing from a file is undefined, never 0. */

/** Ticks per second of the times in /proc, constant for programs on Linux. */
export const ticksPerSecond = 100;

export const cpuModes = [
  "user",
  "nice",
  "system",
  "idle",
  "iowait",
  "irq",
  "softirq",
  "steal",
] as const;
export type CpuMode = (typeof cpuModes)[number];

export interface ProcStat {
  /** Sum over all processors. Guest time is contained in user and nice, so the modes add up to the elapsed time. */
  readonly cpuSeconds: ReadonlyMap<CpuMode, number>;
  readonly contextSwitches: number | undefined;
  readonly bootSeconds: number | undefined;
  readonly running: number | undefined;
  readonly blocked: number | undefined;
}

/** `/proc/stat`: `cpu  10 20 …` in ticks, then `ctxt N`, `btime N`, `procs_running N`. */
export function parseProcStat(text: string): ProcStat | undefined {
  const line = /^cpu +([\d ]{1,400})$/m.exec(text)?.[1];
  if (line === undefined) return undefined;
  const ticks = line.trim().split(" ");
  const cpuSeconds = new Map<CpuMode, number>();
  for (const [index, mode] of cpuModes.entries()) {
    const value = whole(ticks[index]);
    if (value !== undefined) cpuSeconds.set(mode, value / ticksPerSecond);
  }
  const named = (name: string) => whole(new RegExp(`^${name} (\\d{1,20})$`, "m").exec(text)?.[1]);
  return {
    cpuSeconds,
    contextSwitches: named("ctxt"),
    bootSeconds: named("btime"),
    running: named("procs_running"),
    blocked: named("procs_blocked"),
  };
}

/** `0.31 0.33 0.21 1/94 16410`. */
export function parseLoad(text: string): readonly [number, number, number] | undefined {
  const match = /^(\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9}\.\d\d) /.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2]), Number(match[3])];
}

export interface DiskCounts {
  readonly reads: number;
  readonly readBytes: number;
  readonly readSeconds: number;
  readonly writes: number;
  readonly writtenBytes: number;
  readonly writeSeconds: number;
  readonly busySeconds: number;
}

/** `/proc/diskstats`: major minor name, then reads, merged, sectors, ms, writes, merged, sectors, ms, in flight, busy ms. */
export function parseDiskstats(text: string): ReadonlyMap<string, DiskCounts> {
  const disks = new Map<string, DiskCounts>();
  for (const line of text.split("\n")) {
    const cells = line.trim().split(/ +/);
    const name = cells[2];
    const numbers = cells.slice(3, 13).map(whole);
    if (name === undefined || numbers.length < 10 || numbers.includes(undefined)) continue;
    const [
      reads = 0,
      ,
      readSectors = 0,
      readMs = 0,
      writes = 0,
      ,
      written = 0,
      writeMs = 0,
      ,
      busyMs = 0,
    ] = numbers;
    // A sector is 512 bytes here, whatever the disk's own sector size.
    disks.set(name, {
      reads,
      readBytes: readSectors * 512,
      readSeconds: readMs / 1_000,
      writes,
      writtenBytes: written * 512,
      writeSeconds: writeMs / 1_000,
      busySeconds: busyMs / 1_000,
    });
  }
  return disks;
}

export interface TrafficCounts {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly drops: number;
}

export interface NetworkCounts {
  readonly receive: TrafficCounts;
  readonly transmit: TrafficCounts;
}

/** `/proc/net/dev`: `eth0: bytes packets errs drop fifo frame compressed multicast | bytes packets errs drop …`. */
export function parseNetDev(text: string): ReadonlyMap<string, NetworkCounts> {
  const found = new Map<string, NetworkCounts>();
  for (const line of text.split("\n")) {
    const colon = line.lastIndexOf(":");
    if (colon === -1) continue;
    const name = line.slice(0, colon).trim();
    const numbers = line
      .slice(colon + 1)
      .trim()
      .split(/ +/)
      .map(whole);
    if (name === "" || numbers.length < 16 || numbers.includes(undefined)) continue;
    const counts = (start: number): TrafficCounts => {
      const [bytes = 0, packets = 0, errors = 0, drops = 0] = numbers.slice(start, start + 4);
      return { bytes, packets, errors, drops };
    };
    found.set(name, { receive: counts(0), transmit: counts(8) });
  }
  return found;
}

export interface Pressure {
  readonly waitingSeconds: number | undefined;
  readonly stalledSeconds: number | undefined;
}

/** `/proc/pressure/*`: `some avg10=0.00 … total=123` and `full …`, in microseconds. */
export function parsePressure(text: string): Pressure {
  const total = (kind: string): number | undefined => {
    const micros = whole(new RegExp(`^${kind} .*total=(\\d{1,20})$`, "m").exec(text)?.[1]);
    return micros === undefined ? undefined : micros / 1e6;
  };
  return { waitingSeconds: total("some"), stalledSeconds: total("full") };
}

export interface Mount {
  readonly device: string;
  readonly mountpoint: string;
  readonly fstype: string;
  /** major:minor; shared by bind mounts of the same filesystem. */
  readonly number: string;
}

/** `/proc/PID/mountinfo`: id parent major:minor root mountpoint options … - fstype device options; spaces are written \\040. */
export function parseMountinfo(text: string): readonly Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split("\n")) {
    const [before = "", after] = line.split(" - ", 2);
    const [, , number, , mountpoint] = before.split(" ");
    const [fstype, device] = (after ?? "").split(" ");
    if (number === undefined || mountpoint === undefined || !fstype || !device) continue;
    mounts.push({ device: plain(device), mountpoint: plain(mountpoint), fstype, number });
  }
  return mounts;
}

const plain = (text: string): string =>
  text.replace(/\\([0-3][0-7]{2})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );

function whole(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,20}$/.test(text) ? Number(text) : undefined;
}
