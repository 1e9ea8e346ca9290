/** Stores in folders of their own, for tests; removed when the test is over. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { silentLog } from "../../src/base/log.ts";
import { type LabelSet, labelSet } from "../../src/model/labels.ts";
import type { StoreOptions } from "../../src/storage/embedded/options.ts";
import { openStore, type Store } from "../../src/storage/embedded/store.ts";

export const dayMs = 86_400_000;
export const nowMs = 1_790_000_000_000;

export class Folders {
  readonly #made: string[] = [];

  make(): string {
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-store-"));
    this.#made.push(dir);
    return dir;
  }

  remove(): void {
    for (const dir of this.#made.splice(0)) rmSync(dir, { recursive: true, force: true });
  }
}

export function openAt(dir: string, options: Partial<StoreOptions> = {}): Promise<Store> {
  return openStore({
    dir,
    retentionMs: 100 * 365 * dayMs,
    memoryBytes: 1_000_000,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
    ...options,
  });
}

export const named = (name: string, more: Record<string, string> = {}): LabelSet =>
  labelSet({ __name__: name, ...more });

/** Appends one sample to each of these series at this instant. */
export function put(store: Store, timeMs: number, samples: readonly [LabelSet, number][]) {
  const appender = store.appender();
  for (const [labels, value] of samples) appender.add(appender.ref(labels), timeMs, value);
  return appender.commit();
}

/** All samples, as `name{…} time=value time=value`. */
export async function dump(store: Store): Promise<string[]> {
  const all = await store.select([{ name: "__name__", op: "=~", value: ".+" }], 0, Infinity);
  return all
    .map(({ labels, column }) => {
      const samples = [...column.times].map((time, i) =>
        column.stale?.[i] === 1 ? `${time}=stale` : `${time}=${column.values[i]}`,
      );
      return `${labels.map(([name, value]) => `${name}:${value}`).join(",")} ${samples.join(" ")}`;
    })
    .sort();
}
