// A generated GPU-Z log, and its transfer to InfluxDB by a pipe, for tests that query InfluxDB.

import { writeFile } from "node:fs/promises";
import * as v from "valibot";
import { geforceCells, geforceColumns, headerLine, rowLine } from "../fixtures/formats/gpuz.ts";
import { systemClock } from "../../src/base/clock.ts";
import { Pipe } from "../../src/pipeline/stream/pipe.ts";
import { createProcessing, streamSchema } from "../../src/pipeline/tags/options.ts";
import { lines, sinkTo } from "./kafka-lab.ts";
import { openSources } from "../../src/sources/open.ts";

export const logStartMs = Date.UTC(2026, 0, 15, 12);

/** One row per second; the readings identify the row, and some are hot. */
export async function writeLog(file: string, rows: number): Promise<void> {
  const [temperature, power] = ["GPU Temperature [\u00b0C]", "Board Power Draw [W]"];
  let text = headerLine(geforceColumns);
  for (let at = 0; at < rows; at++) {
    const date = new Date(logStartMs + at * 1_000).toISOString().slice(0, 19).replace("T", " ");
    const cells = geforceColumns.map((column, index) => {
      if (column === temperature) return 40 + (at % 60);
      if (column === power) return ((at % 4_000) / 10).toFixed(1);
      return geforceCells[index] ?? "-";
    });
    text += rowLine(date, cells);
  }
  await writeFile(file, text, "latin1");
}

/** Transfers every row of the log through a pipe that tags anomalies. */
export async function pipeLog(file: string, to: string): Promise<void> {
  const name = encodeURIComponent(file);
  await pipeAll(`gpuz:${name}?gpu-name=GeForce RTX 4090&timezone=UTC`, to);
}

/** Transfers all data of a source through such a pipe. */
export async function pipeAll(from: string, to: string): Promise<void> {
  const { log } = lines();
  const sources = await openSources([from], {
    host: "desk",
    log,
    nowMs: () => Date.now(),
    sysfs: "/sys",
    procfs: "/proc",
  });
  const pipe = new Pipe({
    sources,
    ...createProcessing(v.parse(streamSchema, {})),
    sinks: [await sinkTo(to)],
    intervalMs: 1_000,
    host: "desk",
    clock: systemClock,
    log,
    checkpointFrames: 1_000,
    checkpointMs: 1_000,
    graceMs: 5_000,
  });
  await pipe.run(new AbortController().signal);
}
