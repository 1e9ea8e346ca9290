/** Computes each process's share of a GPU's time since the last read, from the counters in its open files. Pure. */
import type { DrmClient } from "./fdinfo.ts";
import type { DrmProcess } from "./fdinfo-scan.ts";

export interface DrmProcessShare {
  readonly pid: number;
  /** Memory in the regions that belong to this GPU. */
  readonly memoryBytes: number;
  /** Share by engine; undefined without an earlier read to compare with. */
  readonly engines: ReadonlyMap<string, number> | undefined;
}

interface CounterSnapshot {
  readonly timeMs: number;
  readonly counters: ReadonlyMap<string, Counter>;
}

interface Counter {
  readonly busy: number;
  /** Elapsed cycles, if the driver counts cycles. */
  readonly total: number | undefined;
}

/** Holds the previous counters of one GPU. */
export class EngineShares {
  #last: CounterSnapshot | undefined;

  /** Returns the shares of every process that has the GPU open. A new counter has a share from the next read on. */
  read(
    timeMs: number,
    pciBusId: string,
    processes: readonly DrmProcess[],
    isOwnMemory: (region: string) => boolean,
  ): readonly DrmProcessShare[] {
    const last = this.#last;
    const counters = new Map<string, Counter>();
    const shares = processes.flatMap(({ pid, clients }) => {
      const own = clients.filter((client) => client.pciBusId === pciBusId);
      if (own.length === 0) return [];
      for (const client of own)
        for (const [key, counter] of countersOf(client)) counters.set(key, counter);
      return [
        {
          pid,
          memoryBytes: own.reduce((sum, client) => sum + memoryOf(client, isOwnMemory), 0),
          engines: last === undefined ? undefined : enginesOf(own, last, timeMs),
        },
      ];
    });
    this.#last = { timeMs, counters };
    return shares;
  }
}

/** Sums each engine's shares over all processes. */
export function sumEngines(
  shares: readonly DrmProcessShare[],
): ReadonlyMap<string, number> | undefined {
  if (shares.some(({ engines }) => engines === undefined)) return undefined;
  const sums = new Map<string, number>();
  for (const { engines } of shares) {
    for (const [engine, share] of engines ?? []) sums.set(engine, (sums.get(engine) ?? 0) + share);
  }
  return sums;
}

/** A process's share of the GPU is that of its busiest engine, because engines run in parallel. */
export function busiest(engines: ReadonlyMap<string, number> | undefined): number | undefined {
  return engines === undefined ? undefined : Math.min(1, Math.max(0, ...engines.values()));
}

function countersOf(client: DrmClient): readonly (readonly [string, Counter])[] {
  const key = (engine: string): string => `${client.clientId} ${engine}`;
  return [
    ...[...client.busyNs].map(
      ([engine, busy]) => [key(engine), { busy, total: undefined }] as const,
    ),
    ...[...client.cycles].map(([engine, counter]) => [key(engine), counter] as const),
  ];
}

function memoryOf(client: DrmClient, isOwn: (region: string) => boolean): number {
  let sum = 0;
  for (const [region, bytes] of client.memoryBytes) if (isOwn(region)) sum += bytes;
  return sum;
}

function enginesOf(
  clients: readonly DrmClient[],
  last: CounterSnapshot,
  timeMs: number,
): ReadonlyMap<string, number> {
  const elapsedNs = (timeMs - last.timeMs) * 1e6;
  const shares = new Map<string, number>();
  for (const client of clients) {
    for (const [key, now] of countersOf(client)) {
      const engine = key.slice(key.indexOf(" ") + 1);
      const before = last.counters.get(key);
      const share = before === undefined ? 0 : shareSince(now, before, elapsedNs);
      const capacity = client.capacity.get(engine) ?? 1;
      shares.set(engine, (shares.get(engine) ?? 0) + share / Math.max(1, capacity));
    }
  }
  return shares;
}

function shareSince(now: Counter, before: Counter, elapsedNs: number): number {
  const busy = now.busy - before.busy;
  const passed =
    now.total === undefined || before.total === undefined ? elapsedNs : now.total - before.total;
  return busy > 0 && passed > 0 ? Math.min(1, busy / passed) : 0;
}
