/** The size of the same samples on disk in VictoriaMetrics: the reference for bytes per sample, measured in the same run. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../engines/ports.ts";
import { startProcess } from "../engines/process.ts";
import { findTool } from "../engines/tools.ts";
import type { LabelSet } from "../src/model/labels.ts";

export interface PeerSeries {
  readonly labels: LabelSet;
  readonly times: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

/** Bytes per sample of its data files after flushing and merging; undefined if it is not installed. */
export async function victoriaBytesPerSample(
  series: Iterable<PeerSeries>,
): Promise<number | undefined> {
  const tool = findTool("victoria-metrics");
  if ("missing" in tool) return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-peer-"));
  const address = `127.0.0.1:${await freePort()}`;
  const server = startProcess(tool.path, [
    `-storageDataPath=${folder}`,
    `-httpListenAddr=${address}`,
    "-retentionPeriod=100y",
  ]);
  try {
    await server.waitForUrl(`http://${address}/health`);
    let samples = 0;
    for (const { labels, times, values } of series) {
      samples += values.length;
      const body = JSON.stringify({
        metric: Object.fromEntries(labels),
        values: Array.from(values),
        timestamps: Array.from(times),
      });
      const answer = await fetch(`http://${address}/api/v1/import`, { method: "POST", body });
      if (!answer.ok) throw new Error(`VictoriaMetrics refused an import: ${await answer.text()}`);
    }
    await fetch(`http://${address}/internal/force_flush`);
    await fetch(`http://${address}/internal/force_merge`);
    return (await settledBytes(path.join(folder, "data"))) / samples;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Merging continues after the response: waits until the size has been constant for three seconds. */
async function settledBytes(dir: string): Promise<number> {
  let [size, same] = [-1, 0];
  for (let second = 0; second < 60 && same < 3; second++) {
    await sleep(1_000);
    const now = folderBytes(dir);
    same = now === size ? same + 1 : 0;
    size = now;
  }
  return size;
}

function folderBytes(dir: string): number {
  return readdirSync(dir, { withFileTypes: true }).reduce((sum, entry) => {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) return sum + folderBytes(full);
    return sum + (statSync(full, { throwIfNoEntry: false })?.size ?? 0);
  }, 0);
}
