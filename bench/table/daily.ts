/** The daily analysis of 10 million rows with gpulse beside DuckDB alone: with deduplication, and where no row can be a duplicate. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { program } from "../../engines/program.ts";
import { analyses } from "../../src/lake/analyses/list.ts";
import { makeLake, makeManifest } from "../analytics-data.ts";
import { measureProgram } from "../analytics-measure.ts";
import { plainScript } from "./analytics.ts";
import { type Area, line } from "./measurement.ts";

const days = 116;

export const daily: Area = {
  name: "daily",
  title: "The daily analysis of 10 million rows beside plain DuckDB",
  about:
    "`gpulse analyze daily` over 116 days of 8 GPUs with 10 metrics every 8 s (10 million rows in 116 files) and the same SQL in a bare process with DuckDB: as files that gpulse knows nothing about, and with the manifest that it writes, by which no file can repeat a row of another; starts of the programs included.",
  more: "npm run bench:analytics",
  measurements: [
    line("daily.compared", "time", "DuckDB alone, the same SQL and deduplication", "time", "s"),
    line(
      "daily.unique",
      "time, where no row can be a duplicate",
      "DuckDB alone without deduplication",
      "time",
      "s",
    ),
  ],
  measure: async ({ put, progress }) => {
    const rounds = 3;
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-bench-daily-"));
    try {
      const lake = path.join(dir, "lake");
      progress(`making a lake of ${days} days`);
      await makeLake(lake, days, 1, 10);
      const chosen = analyses.filter(({ name }) => name === "daily");
      for (const isUnique of [false, true]) {
        if (isUnique) makeManifest(lake, days);
        const script = path.join(dir, `plain-${isUnique}.mjs`);
        writeFileSync(script, await plainScript(lake, chosen, isUnique));
        const analyze = [program, "analyze", "daily", "--input", lake];
        const own = [...analyze, "--memory", "4g", "--format", "json"];
        const secondsOf = async (args: readonly string[], round: number): Promise<number> => {
          progress(`round ${round} of ${rounds}: ${args === own ? "gpulse" : "DuckDB"}`);
          return (await measureProgram(args, process.env)).seconds;
        };
        // The first round reads the files into the page cache.
        for (let round = 0; round <= rounds; round++) {
          const [ours, theirs] = [await secondsOf(own, round), await secondsOf([script], round)];
          if (round > 0) put(isUnique ? "daily.unique" : "daily.compared", ours, theirs);
        }
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};
