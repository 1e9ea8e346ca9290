/** The files of a small data folder as format version 1 wrote them: four series in a block, a fifth in the log. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const segmentBytes = 2048;

const files: Readonly<Record<string, string>> = {
  "blocks/0000000001.block":
    "Z3B1bHNlQmsBAAAAAAAAAAIAAAEAAgIAAAHIAQICAAABkAMCAgAAAdgEAgPoB9APCAIAAOgH0A8CBAAABgIABwIABwIABwAbG1igjdgAAAAAAADwPwAAAAAAAAAAAAAAAABAj0AAAAAAAHCnQAAAAAAAAChABAAAAAEAAAABAAAAAAAAAAAAAAAAgEVADgAAAA4AAACQcx1LAAAAAAAAAAAAgExADQAAAA0AAAAkkn1kAAAAAAAAAAAAgFFABwAAAAcAAAB4TakyAAAAAAAAAADrYwA7Z3B1bHNlQmU=",
  "manifest.json":
    "eyJ2ZXJzaW9uIjoxLCJuZXh0QmxvY2siOjIsImJsb2NrcyI6WzFdLCJ3YWxGcm9tIjoyLCJzZXJpZXNMb2ciOjEsInRvbWJzdG9uZXMiOltdfQo5ZjY2ZDliZAo=",
  "series-1.log":
    "Z1JlY2EAAAD+A+3PAAAAAAEAioAACF9fbmFtZV9fFmdwdWxzZV9ncHVfcG93ZXJfd2F0dHMIaW5zdGFuY2UKZ3B1LW5vZGUtMAR1dWlkBUdQVS0wCmdwdS1ub2RlLTEFR1BVLTEFR1BVLTIFR1BVLTMAAAAAAAAAZ1JlYyQAAACs+kRSAQAAAAKEgAAAAwABAgMEBQIDAAECBgQHAgMAAQIDBAgCAwABAgYECQAAAAA=",
  "wal/0000000002.wal":
    "Z1JlY0MAAADS4iEzBAAAAAEBBAMIX19uYW1lX18WZ3B1bHNlX2dwdV9wb3dlcl93YXR0cwhpbnN0YW5jZQpncHUtbm9kZS0wBHV1aWQFR1BVLTQAAAAAAGdSZWNMAAAAk2mkuQUAAAACAAAABQAAAAAAAAAAQK9AAAAAAAAACEAAAAAAAMBZQAAAAAAAYGlAAAAAAADwckAAAAAAADB5QAAAAAABAAAAAgAAAAMAAAAEAAAAAAAAAGdSZWNMAAAApowpUAYAAAACAAAABQAAAAAAAAAAiLNAAAAAAAAAEEAAAAAAAABaQAAAAAAAgGlAAAAAAAAAc0AAAAAAAEB5QAAAAAABAAAAAgAAAAMAAAAE",
};

export function writeVersion1(dir: string): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(dir, name);
    mkdirSync(path.dirname(file), { recursive: true });
    const bytes = Buffer.from(content, "base64");
    const padding = name.endsWith(".wal") ? segmentBytes - bytes.length : 0;
    writeFileSync(file, Buffer.concat([bytes, Buffer.alloc(padding)]));
  }
}

/** As `dump` shows them. */
export const version1Lines: readonly string[] = [0, 1, 2, 3, 4]
  .map((i) => {
    const steps = i === 4 ? [3, 4] : [0, 1, 2, 3, 4];
    const samples = steps.map((step) => `${1000 * (step + 1)}=${i * 100 + step}`).join(" ");
    return `__name__:gpulse_gpu_power_watts,instance:gpu-node-${i % 2},uuid:GPU-${i} ${samples}`;
  })
  .sort();
