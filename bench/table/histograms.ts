/** Native histograms in the hub and in Prometheus: alternates the same requests and the same queries between both. */
import { measureHistograms } from "../histogram-measure.ts";
import { type Engine, startHubEngine, startPrometheusEngine } from "../hub-engines.ts";
import { type Area, line } from "./measurement.ts";

const peer = "Prometheus";

export const histograms: Area = {
  name: "histograms",
  title: "Native histograms beside Prometheus",
  about:
    "1,000 series of request latencies (schema 3, 20 to 50 buckets, 15 to 60 observations an interval), 6 h at 15 s by remote-write into the hub and into Prometheus with `--enable-feature=native-histograms`, sealed; then each query over all of it at a 60 s step, three times, the first not counted.",
  more: "node scripts/run-ts.mjs bench/histograms.ts --tools",
  measurements: [
    line("histograms.bytes", "bytes a native histogram on disk", peer, "bytes", "bytes"),
    line(
      "histograms.cpu",
      "processor per million native histograms ingested",
      peer,
      "processor",
      "s",
      {
        behind:
          "a histogram is decoded, written to the log and put into columns in JavaScript; Prometheus is compiled Go.",
      },
    ),
    line("histograms.quantile", "`histogram_quantile` of 1,000 rates", peer, "time", "ms"),
    line(
      "histograms.quantile-sum",
      "`histogram_quantile` of sums of 1,000 rates",
      peer,
      "time",
      "ms",
    ),
    line("histograms.count", "`histogram_count` of 1,000 rates", peer, "time", "ms"),
  ],
  measure: async ({ full, put, progress }) => {
    const engines: Engine[] = [];
    try {
      engines.push(await startHubEngine());
      engines.push(await startPrometheusEngine(["--enable-feature=native-histograms"]));
      const sizes = { series: 1_000, hours: 6, rounds: full ? 5 : 2 };
      for (const { id, values } of await measureHistograms(engines, sizes, progress))
        values.get("hub")?.forEach((ours, round) => {
          put(`histograms.${id}`, ours, values.get("Prometheus")?.[round] ?? Number.NaN);
        });
    } finally {
      for (const engine of engines) await engine.stop();
    }
  },
};
