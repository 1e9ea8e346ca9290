/** Cost per sample, bytes per sample and query time at 1, 4 and 16 times the series, and how each grows. */
import { encodeFleet, seriesPerGpu } from "../hub-data.ts";
import type { Engine, EngineName } from "../hub-engines.ts";
import { ask, type BenchQuery } from "../hub-queries.ts";
import { middle } from "./band.ts";
import { both, endsNow, type Figures, fill, note, withEngines } from "./engines.ts";
import type { Area, Context, FigureKind } from "./measurement.ts";

const gpus = 64;
const factors = [1, 4, 16] as const;
const stepMs = 15_000;

const kinds = {
  cpu: { what: "processor per million samples", kind: "processor", unit: "s" },
  bytes: { what: "bytes a sample on disk", kind: "bytes", unit: "bytes" },
  query: { what: "queries over every GPU", kind: "time", unit: "ms" },
} as const satisfies Record<string, { what: string; kind: FigureKind; unit: string }>;
type Kind = keyof typeof kinds;
const kindNames = Object.keys(kinds) as Kind[];

const why: Readonly<Record<Kind, string>> = {
  cpu: "few samples of many series: V8 still compiles the hub's code.",
  bytes: "few samples of many series: the label sets are most of it.",
  query:
    "few runs for code that is compiled as it runs: with 2,560 series the hundredth instant query takes 1.1 ms (VictoriaMetrics 1.15, Prometheus 1.07), the hundredth range query 1.8 (1.0, 1.6), measured before parsed queries were remembered. On a warm hub they now take 0.43 and 0.54 ms of processor time (0.76 and 0.82 before), of which a plain Node HTTP server that returns the same bytes takes 0.2.",
};

export const scale: Area = {
  name: "scale",
  title: "Growth with the number of series",
  about: `${gpus}, ${gpus * 4} and ${gpus * 16} GPUs × ${seriesPerGpu} series at 15 s by remote-write (four senders; the first quarter is not counted), then an instant and a range query that aggregate one metric of every GPU, six times each and the first not counted; the geometric mean of both. Growth is the figure with 16 times the series divided by the figure with the fewest.`,
  measurements: kindNames.flatMap((name) => {
    const { what, kind, unit } = kinds[name];
    return [
      ...factors.flatMap((factor) =>
        both(`scale.${name}.${factor}`, `${what}, ${format(factor)} series`, kind, unit, {
          behind: why[name],
        }),
      ),
      ...both(`scale.${name}.growth`, `growth of ${what}`, kind, "×", { behind: why[name] }),
    ];
  }),
  measure: async (context) => {
    const [rounds, steps] = context.full ? [5, 240] : [3, 24];
    for (let round = 0; round < rounds; round++) await measureRound(context, round, steps);
  },
};

async function measureRound(context: Context, round: number, steps: number): Promise<void> {
  const found = new Map<string, number>();
  const key = (name: Kind, factor: number, engine: EngineName): string =>
    `${name} ${factor} ${engine}`;
  for (const factor of factors) {
    context.progress(`round ${round + 1}: ${format(factor)} series`);
    const startMs = endsNow() - (steps - 1) * stepMs;
    const endMs = startMs + (steps - 1) * stepMs;
    const requests = encodeFleet({ gpus: gpus * factor, steps, stepMs, startMs }, 4);
    await withEngines(context, round, async (engines, figures) => {
      const taken = await fill(engines, requests);
      const queried = await query(engines, startMs, endMs);
      for (const engine of engines) {
        const of: Record<Kind, number> = {
          cpu: taken.get(engine.name)?.cpu ?? Number.NaN,
          query: queried.get(engine.name) ?? Number.NaN,
          bytes: (await engine.settle()) / requests.samples,
        };
        for (const name of kindNames) {
          found.set(key(name, factor, engine.name), of[name]);
          note(figures, `scale.${name}.${factor}`, engine, of[name]);
          if (factor === factors[2]) noteGrowth(figures, name, engine);
        }
      }
    });
  }

  function noteGrowth(figures: Figures, name: Kind, engine: Engine): void {
    const [least, , most] = factors.map((factor) => found.get(key(name, factor, engine.name)));
    note(figures, `scale.${name}.growth`, engine, (most ?? NaN) / (least ?? NaN));
  }
}

async function query(
  engines: readonly Engine[],
  startMs: number,
  endMs: number,
): Promise<ReadonlyMap<EngineName, number>> {
  const timeMs = endMs - 2_500;
  const range = { startMs: startMs + 122_500, endMs: timeMs, stepMs: 30_000 };
  const asked: readonly BenchQuery[] = [
    { name: "instant", query: "sum by (host) (gpu_power_watts)", timeMs },
    { name: "range", query: "sum by (host) (rate(gpu_energy_joules_total[2m]))", range, timeMs },
  ];
  const took = new Map<string, number[]>();
  for (const question of asked)
    for (let run = 0; run <= 5; run++)
      for (const engine of engines) {
        const { tookMs } = await ask(engine, question);
        const name = `${question.name} ${engine.name}`;
        if (run > 0) took.set(name, [...(took.get(name) ?? []), tookMs]);
      }
  return new Map(
    engines.map(({ name }) => {
      const product = asked.reduce(
        (all, { name: shape }) => all * middle(took.get(`${shape} ${name}`) ?? []),
        1,
      );
      return [name, product ** (1 / asked.length)];
    }),
  );
}

function format(factor: number): string {
  return (gpus * factor * seriesPerGpu).toLocaleString("en-US");
}
