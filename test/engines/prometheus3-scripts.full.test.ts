// The PromQL test scripts of Prometheus itself over HTTP: written to a hub by remote-write, a new hub after every `clear`, and
// queried by its API.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { findPrometheusScripts } from "../../engines/prometheus3.ts";
import { silentLog } from "../../src/base/log.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import {
  type Histogram,
  negativeBuckets,
  positiveBuckets,
} from "../../src/model/histogram/histogram.ts";
import type { LabelSet } from "../../src/model/labels.ts";
import { parseStoreAddress } from "../../src/storage/remote/address.ts";
import { fromShown } from "../../src/storage/remote/histogram-json.ts";
import { openRemoteHistory, type RemoteHistory } from "../../src/storage/remote/remote.ts";
import { runScript, type ScriptEngine, type ScriptStore } from "../promql/run.ts";

/** Remote-write 1.0 has no start times. */
const OTHER_PROTOCOL = "start_timestamps.test";

/** A hub of its own. */
class HubScriptStore implements ScriptStore {
  readonly #hub: RunningHub;
  readonly #dataDir: string;
  readonly history: RemoteHistory;
  #builder = new BatchBuilder();

  constructor(hub: RunningHub, dataDir: string, history: RemoteHistory) {
    this.#hub = hub;
    this.#dataDir = dataDir;
    this.history = history;
  }

  append(labels: LabelSet, timeMs: number, value: number, stale = false): void {
    const series = this.#builder.series(labels);
    if (stale) this.#builder.addStale(series, timeMs);
    else this.#builder.add(series, timeMs, value);
  }

  appendHistogram(labels: LabelSet, timeMs: number, histogram: Histogram): void {
    this.#builder.addHistogram(this.#builder.series(labels), timeMs, histogram);
  }

  async settle(): Promise<void> {
    await this.history.write(this.#builder.finish());
    this.#builder = new BatchBuilder();
  }

  async close(): Promise<void> {
    await this.history.close();
    await this.#hub.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  select = (...args: Parameters<RemoteHistory["select"]>) => this.history.select(...args);
  labelNames = (...args: Parameters<RemoteHistory["labelNames"]>) =>
    this.history.labelNames(...args);
  labelValues = (...args: Parameters<RemoteHistory["labelValues"]>) =>
    this.history.labelValues(...args);
  series = (...args: Parameters<RemoteHistory["series"]>) => this.history.series(...args);
}

async function openHubStore(): Promise<ScriptStore> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-scripts-"));
  const hub = await startHub({ dataDir });
  return new HubScriptStore(
    hub,
    dataDir,
    await openRemoteHistory(parseStoreAddress(hub.url), silentLog),
  );
}

const historyOf = (store: unknown): RemoteHistory => {
  if (!(store instanceof HubScriptStore)) throw new Error("BUG: not a hub's store");
  return store.history;
};

const engine: ScriptEngine = {
  instant: (query, timeMs, store) => historyOf(store).instant(query, timeMs),
  range: (query, startMs, endMs, stepMs, store) =>
    historyOf(store).range(query, startMs, endMs, stepMs),
};

/** As the API shows it: populated buckets from the lowest to the highest, the zero bucket only where it counts something. */
function asShown(histogram: Histogram): Histogram {
  const { count, sum, zeroCount, zeroThreshold } = histogram;
  const zero = { lower: -zeroThreshold, upper: zeroThreshold, count: zeroCount };
  const buckets = [
    ...[...negativeBuckets(histogram)].reverse(),
    ...(zeroCount > 0 ? [zero] : []),
    ...positiveBuckets(histogram),
  ];
  return fromShown({ count, sum, buckets: buckets.filter((bucket) => bucket.count !== 0) });
}

test("every script of Prometheus is answered over HTTP as it expects", async (context) => {
  const folder = await orSkip(context, findPrometheusScripts());
  let cases = 0;
  const problems: object[] = [];
  for (const file of readdirSync(folder).filter((name) => name !== OTHER_PROTOCOL)) {
    const text = readFileSync(path.join(folder, file), "utf8");
    const settings = { openStore: openHubStore, formOf: asShown };
    const results = await runScript(text, engine, settings);
    cases += results.length;
    for (const result of results)
      if (result.problem !== undefined) problems.push({ file, ...result });
  }
  process.stdout.write(`${cases} evaluations over HTTP, ${problems.length} differ\n`);
  expect(problems).toEqual([]);
  expect(cases).toBeGreaterThan(2_000);
}, 900_000);
