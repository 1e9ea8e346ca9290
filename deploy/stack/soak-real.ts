// The real-time part of a soak test: samples the resources of every process of a running stack, and checks that every due scrape
// took place.

import { setTimeout as sleep } from "node:timers/promises";

import { Engine } from "./ask.ts";
import { remoteControl } from "./control.ts";
import { type StackState, urlAt } from "./place.ts";
import { afterWarmUp, floors, grows, type Point, type Trend, trendOf } from "./trend.ts";

const SAMPLE_MS = 5_000;
/** The minimum growth that counts as a leak; a heap fluctuates by less. */
const LEAST_BYTES = 20e6;
const LEAST_FILES = 40;
const GROWTH_SHARE = 0.2;
/** One per day of load: the minimum of each is what remains allocated. */
const FLOORS = 10;

export interface ProcessVerdict {
  readonly name: string;
  readonly restarts: number;
  readonly memory: Trend | undefined;
  readonly files: Trend | undefined;
  readonly grows: boolean;
}

export interface ScrapeVerdict {
  readonly engine: string;
  readonly job: string;
  readonly due: number;
  readonly taken: number;
  readonly failed: number;
}

export interface RealVerdict {
  readonly processes: readonly ProcessVerdict[];
  readonly scrapes: readonly ScrapeVerdict[];
  readonly problems: readonly string[];
}

export async function soakReal(state: StackState, minutes: number): Promise<RealVerdict> {
  const control = remoteControl(state);
  const before = new Map((await control.rows()).map(({ name, restarts }) => [name, restarts]));
  const memory = new Map<string, Point[]>();
  const files = new Map<string, Point[]>();
  const startMs = Date.now();
  const endMs = startMs + minutes * 60_000;
  while (Date.now() < endMs) {
    const x = (Date.now() - startMs) / 3_600_000;
    for (const { name, usage } of await control.rows()) {
      if (usage === undefined) continue;
      memory.set(name, [...(memory.get(name) ?? []), { x, y: usage.pssBytes }]);
      files.set(name, [...(files.get(name) ?? []), { x, y: usage.openFiles }]);
    }
    await sleep(SAMPLE_MS);
  }
  const processes = (await control.rows())
    .filter(({ state: is }) => is !== "skipped")
    .map((row): ProcessVerdict => {
      const [ofMemory, ofFiles] = [memory, files].map((map) =>
        trendOf(afterWarmUp(floors(map.get(row.name) ?? [], FLOORS))),
      );
      return {
        name: row.name,
        restarts: row.restarts - (before.get(row.name) ?? 0),
        memory: ofMemory,
        files: ofFiles,
        grows:
          (ofMemory !== undefined && grows(ofMemory, LEAST_BYTES, GROWTH_SHARE)) ||
          (ofFiles !== undefined && grows(ofFiles, LEAST_FILES, GROWTH_SHARE)),
      };
    });
  const windowSeconds = Math.floor((Date.now() - startMs) / 1000);
  const scrapes = [
    ...(await scrapesOf("prometheus", urlAt(state.ports.prometheus), windowSeconds)),
    ...(await scrapesOf("hub", urlAt(state.ports.hub), windowSeconds)),
  ];
  return { processes, scrapes, problems: troublesOf(processes, scrapes) };
}

async function scrapesOf(
  engine: string,
  url: string,
  windowSeconds: number,
): Promise<readonly ScrapeVerdict[]> {
  const asked = new Engine(url);
  const counts = async (expression: string): Promise<ReadonlyMap<string, number>> =>
    new Map(
      (await asked.query(expression)).map(({ metric, value }) => [metric["job"] ?? "", value]),
    );
  const taken = await counts(`sum by (job) (count_over_time(up[${windowSeconds}s]))`);
  const failed = await counts(
    `sum by (job) (count_over_time(up[${windowSeconds}s]) - sum_over_time(up[${windowSeconds}s]))`,
  );
  return (await asked.targets()).map(({ job, intervalSeconds }) => ({
    engine,
    job,
    due: Math.floor(windowSeconds / intervalSeconds),
    taken: taken.get(job) ?? 0,
    failed: failed.get(job) ?? 0,
  }));
}

function troublesOf(
  processes: readonly ProcessVerdict[],
  scrapes: readonly ScrapeVerdict[],
): readonly string[] {
  return [
    ...processes.flatMap(({ name, restarts }) =>
      restarts > 0 ? [`${name} was started again ${restarts} times`] : [],
    ),
    ...processes.flatMap(({ name, grows: is }) => (is ? [`${name} grows`] : [])),
    // One at each end may be outside of the window.
    ...scrapes.flatMap(({ engine, job, due, taken, failed }) => [
      ...(taken < due - 1 ? [`${engine} missed ${due - taken} scrapes of ${job}`] : []),
      ...(failed > 0 ? [`${engine} had ${failed} failed scrapes of ${job}`] : []),
    ]),
  ];
}
