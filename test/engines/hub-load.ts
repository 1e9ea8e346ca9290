// Writers that load the hub as agents do: every batch is sent until it is acknowledged, then the next one. What each
// batch holds can be computed again, so that a judge can tell every sample.

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { labelSet } from "../../src/model/labels.ts";
import type { LabelSet } from "../../src/model/labels.ts";
import { batchMs, batchSeries, batchValue } from "../store/batches.ts";

/** A part of the series gets a new name every so many batches. */
const CHURN_BATCHES = 50;
/** Every tenth batch also brings a sample from before the one before it. */
const LATE_MS = 1500;

const isLate = (batch: number): boolean => batch % 10 === 9;

function labelsOf(writer: number, series: number, epoch: number): LabelSet {
  const churn = series % 8 === 0 ? String(epoch) : undefined;
  return labelSet({
    __name__: "kept",
    writer: String(writer),
    series: String(series),
    churn,
    instance: "load",
  });
}

export interface Load {
  /** The number of batches that were acknowledged, by writer. */
  readonly acknowledged: readonly number[];
  /** Ends after the batch that each writer is at; the hub has to be up. */
  stop(): Promise<void>;
}

export function startLoad(url: string, writers: number): Load {
  const client = new WriteClient(url);
  const acknowledged = Array.from({ length: writers }, () => 0);
  const stopping = new AbortController();
  const running = acknowledged.map(async (_, writer) => {
    let requests = requestsOf(writer, 0);
    for (let batch = 0; !stopping.signal.aborted; batch++) {
      if (batch % CHURN_BATCHES === 0) requests = requestsOf(writer, batch / CHURN_BATCHES);
      const body = bodyOf(requests, batch);
      while (!(await taken(client, body))) await sleep(5);
      acknowledged[writer] = batch + 1;
      await sleep(1);
    }
  });
  return {
    acknowledged,
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
      client.close();
    },
  };
}

const requestsOf = (writer: number, epoch: number): WriteRequests =>
  new WriteRequests(
    Array.from({ length: batchSeries }, (_, series) => labelsOf(writer, series, epoch)),
  );

function bodyOf(requests: WriteRequests, batch: number): Buffer {
  const timeMs = batchMs(batch);
  const times = isLate(batch) ? [timeMs, timeMs - LATE_MS] : [timeMs];
  return requests.encode(
    0,
    batchSeries,
    times,
    (series, step) => batchValue(batch, series) + step * 0.5,
  );
}

/** No answer means unknown: the batch is sent again. Anything but 204 is a fault of the hub. */
async function taken(client: WriteClient, body: Buffer): Promise<boolean> {
  let answer;
  try {
    answer = await client.send(body);
  } catch {
    return false;
  }
  if (answer.status !== 204) throw new Error(`the hub answered ${answer.status}: ${answer.text}`);
  return true;
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

/** Reads everything back and holds it to what was sent: all of it, once, with its exact value, and nothing else. */
export async function judge(url: string, acknowledged: readonly number[]): Promise<number> {
  let checked = 0;
  for (const [writer, batches] of acknowledged.entries()) {
    const found = new Map<string, number>();
    let twice = 0;
    for (const { metric, values } of await select(url, `kept{writer="${writer}"}[100y]`)) {
      for (const [timeS, value] of values) {
        const key = `${metric["series"]}/${metric["churn"] ?? ""}@${Math.round(timeS * 1000)}`;
        if (found.has(key)) twice++;
        found.set(key, Number(value));
      }
    }
    let [missing, wrong, seen] = [0, 0, 0];
    const check = (key: string, want: number): void => {
      const got = found.get(key);
      if (got === undefined) missing++;
      else if (got !== want) wrong++;
      else seen++;
    };
    for (let batch = 0; batch < batches; batch++) {
      for (let series = 0; series < batchSeries; series++) {
        const churn = series % 8 === 0 ? String(Math.floor(batch / CHURN_BATCHES)) : "";
        const value = batchValue(batch, series);
        check(`${series}/${churn}@${batchMs(batch)}`, value);
        if (isLate(batch)) check(`${series}/${churn}@${batchMs(batch) - LATE_MS}`, value + 0.5);
      }
    }
    expect({ writer, missing, wrong, twice, unexplained: found.size - seen }).toEqual({
      writer,
      missing: 0,
      wrong: 0,
      twice: 0,
      unexplained: 0,
    });
    checked += seen;
  }
  return checked;
}

export async function select(url: string, query: string): Promise<readonly Series[]> {
  const body = new URLSearchParams({ query, time: String(batchMs(1e6) / 1000) });
  const response = await fetch(`${url}/api/v1/query`, { method: "POST", body });
  const answer = (await response.json()) as {
    status: string;
    error?: string;
    data?: { result: Series[] };
  };
  if (answer.data === undefined) throw new Error(`the hub answered ${answer.error}`);
  return answer.data.result;
}
