/** Scripts over the embedded store instead of memory: what it stores must be answered the same. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { silentLog } from "../../src/base/log.ts";
import type { BatchStart } from "../../src/formats/samples/batch.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { startTimesOf } from "../../src/hub/receive/start-times.ts";
import type { Histogram } from "../../src/model/histogram/histogram.ts";
import type { LabelSet } from "../../src/model/labels.ts";
import { openStore, type Store } from "../../src/storage/embedded/store.ts";
import type { ScriptStore } from "./run.ts";

/** `sealed`: samples are in blocks when they are read; otherwise in the head. */
export async function openScriptStore(sealed: boolean): Promise<ScriptStore> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-script-"));
  const store = await openStore({
    dir,
    retentionMs: 1e15,
    memoryBytes: 1e7,
    durability: "process",
    log: silentLog,
    nowMs: () => 1_790_000_000_000,
    workerFile: false,
    manual: true,
  });
  return new EmbeddedScriptStore(store, dir, sealed);
}

class EmbeddedScriptStore implements ScriptStore {
  readonly #store: Store;
  readonly #dir: string;
  readonly #sealed: boolean;
  #builder = new BatchBuilder();

  constructor(store: Store, dir: string, sealed: boolean) {
    this.#store = store;
    this.#dir = dir;
    this.#sealed = sealed;
  }

  append(labels: LabelSet, timeMs: number, value: number, stale = false): void {
    const series = this.#builder.series(labels);
    if (stale) this.#builder.addStale(series, timeMs);
    else this.#builder.add(series, timeMs, value);
  }

  appendHistogram(labels: LabelSet, timeMs: number, histogram: Histogram): void {
    this.#builder.addHistogram(this.#builder.series(labels), timeMs, histogram);
  }

  start(labels: LabelSet, start: Omit<BatchStart, "series">): void {
    this.#builder.addStart({ series: this.#builder.series(labels), ...start });
  }

  async settle(): Promise<void> {
    const batch = this.#builder.finish();
    await this.#store.write(batch);
    const starts = startTimesOf(batch, Infinity);
    if (starts !== undefined) await this.#store.write(starts);
    this.#builder = new BatchBuilder();
    if (this.#sealed) await this.#store.seal();
  }

  async close(): Promise<void> {
    await this.#store.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  select(...args: Parameters<Store["select"]>): ReturnType<Store["select"]> {
    return this.#store.select(...args);
  }

  labelNames(...args: Parameters<Store["labelNames"]>): ReturnType<Store["labelNames"]> {
    return this.#store.labelNames(...args);
  }

  labelValues(...args: Parameters<Store["labelValues"]>): ReturnType<Store["labelValues"]> {
    return this.#store.labelValues(...args);
  }

  series(...args: Parameters<Store["series"]>): ReturnType<Store["series"]> {
    return this.#store.series(...args);
  }
}
