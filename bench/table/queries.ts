/** The effect of heavy queries on other requests: a small query and the health check, alone and beside them. */
import { encodeFleet, seriesPerGpu } from "../hub-data.ts";
import { quantile } from "../hub-print.ts";
import { measureQueryLoad } from "../query-load.ts";
import { both, endsNow, fill, note, withEngines } from "./engines.ts";
import type { Area, Context } from "./measurement.ts";

const gpus = 64;
const stepMs = 5_000;
const behind =
  "heavy queries run in threads of their own; the main thread plans them and writes their responses, and has to share two cores with them. A plain Node HTTP server in a process of its own beside the same load had a p99 of 5.4 to 7.6 ms (three runs).";

export const queries: Area = {
  name: "queries",
  title: "Small queries beside heavy ones",
  about: `${gpus} GPUs × ${seriesPerGpu} series at 5 s, sealed; then \`/-/healthy\` and an instant query of 8 series every 10 ms, alone for 3 s and beside four range queries that run all the time for 10 s: three over all 2,560 series, one \`quantile_over_time\` over an hour. Growth is p99 beside them divided by the median alone.`,
  more: "BENCH_ONLY=beside npm run bench:store",
  measurements: [
    ...both("queries.healthy", "`/-/healthy` beside heavy queries, p99", "time", "ms", { behind }),
    ...both("queries.instant", "small query beside heavy queries, p99", "time", "ms", { behind }),
    ...both("queries.growth", "growth of the small query's time", "time", "×", { behind }),
  ],
  measure: async (context) => {
    const [rounds, steps] = context.full ? [5, 4_320] : [3, 1_000];
    for (let round = 0; round < rounds; round++) {
      context.progress(`round ${round + 1} of ${rounds}`);
      await measureRound(context, round, steps);
    }
  },
};

async function measureRound(context: Context, round: number, steps: number): Promise<void> {
  const endMs = endsNow();
  const startMs = endMs - (steps - 1) * stepMs;
  const requests = encodeFleet({ gpus, steps, stepMs, startMs }, 4);
  await withEngines(context, round, async (engines, figures) => {
    await fill(engines, requests);
    for (const engine of engines) {
      await engine.settle();
      const range = { startMs, endMs };
      const { quiet, loaded } = await measureQueryLoad(engine, range, { quiet: 3, loaded: 10 });
      const instantMs = quantile(loaded.instant, 0.99);
      note(figures, "queries.healthy", engine, quantile(loaded.healthy, 0.99));
      note(figures, "queries.instant", engine, instantMs);
      note(figures, "queries.growth", engine, instantMs / quantile(quiet.instant, 0.5));
    }
  });
}
