/** Reads a folder with phases.json and one *.csv or *.csv.gz trace. The only file here that accesses the disk. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parsePhases, parseTrace, type Phase, type TraceRow } from "./trace.ts";

export function loadRecording(folder: string): { phases: Phase[]; rows: TraceRow[] } {
  const traces = readdirSync(folder)
    .filter((name) => /\.csv(\.gz)?$/.test(name))
    .sort();
  for (const name of traces) {
    const bytes = readFileSync(join(folder, name));
    const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
    if (text.startsWith("t_ms,") && text.slice(0, text.indexOf("\n")).includes("power_mw")) {
      return {
        phases: parsePhases(readFileSync(join(folder, "phases.json"), "utf8")),
        rows: parseTrace(text),
      };
    }
  }
  throw new Error(
    `${folder} has no trace: expected a .csv or .csv.gz with columns t_ms and power_mw beside phases.json`,
  );
}
