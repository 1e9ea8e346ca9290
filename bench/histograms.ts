/**
 * Native histograms in the hub and in Prometheus: alternates the same requests and the same queries between both.
 * `node scripts/run-ts.mjs bench/histograms.ts --tools [SERIES] [HOURS]`. Prints both values and their ratio.
 */
import { type Engine, startHubEngine, startPrometheusEngine } from "./hub-engines.ts";
import { measureHistograms } from "./histogram-measure.ts";
import { middle } from "./table/band.ts";

const [series = 1_000, hours = 6] = process.argv.slice(2).map(Number).filter(Number.isFinite);

const engines: Engine[] = [];
try {
  engines.push(await startHubEngine());
  engines.push(await startPrometheusEngine(["--enable-feature=native-histograms"]));
  const figures = await measureHistograms(engines, { series, hours, rounds: 2 }, (text) =>
    console.error(text),
  );
  console.log(`${series} series of native histograms, ${hours} h at 15 s`);
  console.log(`${"".padEnd(58)} ${"hub".padStart(10)} ${"Prometheus".padStart(10)} ratio`);
  for (const { what, unit, values } of figures) {
    const [ours = NaN, theirs = NaN] = engines.map(({ name }) => middle(values.get(name) ?? []));
    const columns = [ours, theirs].map((value) => value.toPrecision(4).padStart(10));
    console.log(
      `${`${what}, ${unit}`.padEnd(58)} ${columns.join(" ")} ${(ours / theirs).toFixed(2)}`,
    );
  }
} finally {
  for (const engine of engines) await engine.stop();
}
