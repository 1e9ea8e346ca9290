/**
 * Every analysis over a month of eight GPUs (100 million samples) on DuckDB and on Spark, one after the other, over the same
 * Parquet files: time and peak memory side by side. `npm run bench:analytics`; `-- --small` uses one day.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { ensureBuild, program } from "../engines/program.ts";
import { findSpark } from "../engines/spark.ts";
import { measureProgram, type ProgramCost } from "./analytics-measure.ts";
import { gpus, makeLake, metricsPerRow, stepSeconds } from "./analytics-data.ts";
import { grouped, mib, number, say } from "./hub-print.ts";

const { values: given } = parseArgs({
  options: {
    small: { type: "boolean", default: false },
    days: { type: "string" },
    seed: { type: "string", default: "1" },
    analyses: { type: "string", default: "daily,hourly,spikes,correlation,energy,idle,efficiency" },
    engines: { type: "string", default: "duckdb,spark" },
    memory: { type: "string", default: "4g" },
  },
});
const days = Number(given.days ?? (given.small ? 1 : 30));

await ensureBuild();
const dir = mkdtempSync(path.join(tmpdir(), "gpulse-bench-analytics-"));
try {
  const lake = await makeLake(dir, days, Number(given.seed));
  const samples = lake.rows * metricsPerRow;
  say(
    `${grouped(samples)} samples: ${gpus} GPUs, ${metricsPerRow} metrics, every ${stepSeconds} s for ${days} days; ${grouped(lake.rows)} rows, ${mib(lake.bytes)} of Parquet.`,
  );
  const names = given.analyses.split(",");
  const engines = given.engines.split(",");
  const spark = engines.includes("spark") ? await findSpark() : undefined;
  const rounds = [...(names.length > 1 ? [names] : []), ...names.map((name) => [name])];
  say(
    `\n| | ${engines.map((name) => `${name} | memory`).join(" | ")} | ${engines.length > 1 ? `${engines[1]} / ${engines[0]} time | memory | ` : ""}\n|${"---|".repeat(1 + engines.length * 2 + (engines.length > 1 ? 2 : 0))}`,
  );
  // First all analyses together, which reads the data once as a report does. Single analyses run only on DuckDB, since starting
  // Spark costs more than they do.
  for (const [at, chosen] of rounds.entries()) {
    const measured: ProgramCost[] = [];
    for (const engine of engines) {
      if (at > 0 && engine === "spark") continue;
      const args = [...chosen, "--input", dir, "--engine", engine];
      const extra =
        engine === "spark"
          ? ["--master", "local[*]", "--spark-conf", `spark.driver.memory=${given.memory}`]
          : ["--memory", given.memory];
      measured.push(
        await measureProgram([program, "analyze", ...args, ...extra, "--format", "json"], {
          ...process.env,
          ...spark?.env,
        }),
      );
    }
    const [first, second] = measured;
    const cells = measured.map(
      ({ seconds, peakBytes }) => `${number(seconds)} s | ${mib(peakBytes)}`,
    );
    const ratio =
      first === undefined || second === undefined
        ? ""
        : ` ${number(second.seconds / first.seconds)} | ${number(second.peakBytes / first.peakBytes)} |`;
    say(`| ${chosen.length > 1 ? "all" : chosen[0]} | ${cells.join(" | ")} |${ratio}`);
    if (first !== undefined && second !== undefined) say(agree(first.answers, second.answers));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

/** The largest difference of two numbers at the same position; texts must be equal. */
function agree(one: string, other: string): string {
  let worst = 0;
  let different = 0;
  const compare = (a: unknown, b: unknown): void => {
    if (typeof a === "number" && typeof b === "number")
      worst = Math.max(worst, Math.abs(a - b) / Math.max(1, Math.abs(a)));
    else if (typeof a === "object" && a !== null && typeof b === "object" && b !== null) {
      const twin = b as Record<string, unknown>;
      for (const [key, value] of Object.entries(a)) compare(value, twin[key]);
    } else if (a !== b) different++;
  };
  compare(JSON.parse(one), JSON.parse(other));
  return `\nLargest difference of the answers: ${worst.toExponential(1)}; cells that differ otherwise: ${different}.\n`;
}
