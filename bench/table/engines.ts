/** The hub, VictoriaMetrics and Prometheus side by side: the same requests into each, in turn. */
import {
  type Engine,
  type EngineName,
  ingest,
  startHubEngine,
  startPrometheusEngine,
  startVictoriaMetricsEngine,
} from "../hub-engines.ts";
import type { FleetRequests } from "../hub-data.ts";
import { cpuSeconds } from "./cost.ts";
import { type Context, type FigureKind, line, type Measurement } from "./measurement.ts";

const peers = { vm: "VictoriaMetrics", prometheus: "Prometheus" } as const;
type Peer = keyof typeof peers;

/** One line per peer. */
export function both(
  figure: string,
  what: string,
  kind: FigureKind,
  unit: string,
  more: Parameters<typeof line>[5] = {},
): Measurement[] {
  return (Object.keys(peers) as Peer[]).map((peer) =>
    line(`${figure}.${peer}`, what, peers[peer], kind, unit, more),
  );
}

const slices = 12;
/** Not counted: in these slices an engine creates its series, and V8 compiles the hub's code. */
const warmUpSlices = 3;

export type Figures = Map<string, Map<EngineName, number>>;

/** Starts all three, in a different order every round; the values that `work` adds are recorded beside the hub's. */
export async function withEngines(
  { put }: Context,
  round: number,
  work: (engines: readonly Engine[], figures: Figures) => Promise<void>,
): Promise<void> {
  const starts = [startHubEngine, startVictoriaMetricsEngine, startPrometheusEngine];
  const engines: Engine[] = [];
  const figures: Figures = new Map();
  try {
    for (let at = 0; at < starts.length; at++)
      engines.push(await (starts[(at + round) % starts.length] ?? startHubEngine)());
    await work(engines, figures);
  } finally {
    for (const engine of engines) await engine.stop();
  }
  for (const [figure, of] of figures)
    for (const peer of Object.keys(peers) as Peer[])
      put(`${figure}.${peer}`, of.get("hub") ?? NaN, of.get(peers[peer]) ?? NaN);
}

export function note(figures: Figures, figure: string, { name }: Engine, value: number): void {
  const of = figures.get(figure) ?? new Map<EngineName, number>();
  figures.set(figure, of.set(name, value));
}

export const endsNow = (): number => Math.floor(Date.now() / 60_000) * 60_000;

/**
 * Sends the requests in slices, engine by engine, so that a disturbance affects all of them. The first quarter is not counted.
 */
export async function fill(
  engines: readonly Engine[],
  { samples, senders }: FleetRequests,
): Promise<Map<EngineName, { rate: number; cpu: number }>> {
  const spent = new Map(engines.map(({ name }) => [name, { seconds: 0, cpu: 0 }]));
  for (let slice = 0; slice < slices; slice++)
    for (const engine of slice % 2 === 0 ? engines : engines.toReversed()) {
      const part = senders.map((bodies) => {
        const at = (share: number): number => Math.floor((bodies.length * share) / slices);
        return bodies.slice(at(slice), at(slice + 1));
      });
      const before = cpuSeconds(engine.pid);
      const { seconds } = await ingest(engine, part);
      const sum = spent.get(engine.name);
      if (sum === undefined) throw new Error("BUG: an engine that was not started");
      if (slice < warmUpSlices) continue;
      sum.seconds += seconds;
      sum.cpu += cpuSeconds(engine.pid) - before;
    }
  const counted = samples * (1 - warmUpSlices / slices);
  return new Map(
    [...spent].map(([name, { seconds, cpu }]) => [
      name,
      { rate: counted / seconds / 1e6, cpu: (cpu / counted) * 1e6 },
    ]),
  );
}
