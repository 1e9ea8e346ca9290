// A remote-write sender that records acknowledged batches, and the reader that verifies them at the hub afterwards. A
// batch is resent until it is acknowledged before the next one, so the hub also receives batches again whose response
// was lost.

import { setTimeout as sleep } from "node:timers/promises";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { labelSet } from "../../src/model/labels.ts";
import { select } from "../engines/select-all.ts";
import { batchMs } from "../store/batches.ts";
import type { SampleVerdict } from "./counts.ts";

export const SERIES = 25;
/** A batch without a response is resent after this time. */
const PATIENCE_MS = 3_000;

/** Every value is unique, so that no sample can be mistaken for another. */
export const valueOf = (batch: number, series: number): number =>
  Math.sin(batch * SERIES + series + 1);

export interface Writer {
  /** Number of acknowledged batches. */
  readonly acknowledged: () => number;
  /** Number of sends without a response or with a retry status. */
  readonly again: () => number;
  /** Stops after the current batch is acknowledged; the hub has to be running. */
  stop(): Promise<void>;
  /** Queries the hub directly, bypassing the proxies. */
  judge(hubUrl: string): Promise<SampleVerdict>;
}

export function startWriter(
  url: string,
  options: { readonly name?: string; readonly pauseMs?: number } = {},
): Writer {
  const { name = "chaos_written", pauseMs = 5 } = options;
  const requests = new WriteRequests(
    Array.from({ length: SERIES }, (_, series) =>
      labelSet({ __name__: name, series: String(series) }),
    ),
  );
  const stopping = new AbortController();
  let [acknowledged, again] = [0, 0];
  let client = new WriteClient(url);
  /** Any response other than success or retry is a fault of the hub and ends the run. */
  const taken = async (body: Buffer): Promise<boolean> => {
    const sending = client.send(body).catch(() => undefined);
    const answer = await Promise.race([sending, sleep(PATIENCE_MS).then(() => undefined)]);
    if (answer?.status === 204) return true;
    if (answer !== undefined && ![429, 503].includes(answer.status))
      throw new Error(`the hub answered ${answer.status}: ${answer.text}`);
    if (answer !== undefined) return false;
    // It is unknown whether the batch arrived.
    client.close();
    client = new WriteClient(url);
    return false;
  };
  const run = async (): Promise<void> => {
    for (let batch = 0; !stopping.signal.aborted; batch++) {
      const body = requests.encode(0, SERIES, [batchMs(batch)], (series) => valueOf(batch, series));
      while (!(await taken(body))) {
        again++;
        await sleep(50);
      }
      acknowledged = batch + 1;
      await sleep(pauseMs);
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    acknowledged: () => acknowledged,
    again: () => again,
    stop: async () => {
      stopping.abort();
      try {
        await running;
      } finally {
        client.close();
      }
    },
    judge: async (hubUrl) => {
      let [right, duplicated, wrong, unexplained] = [0, 0, 0, 0];
      for (const { metric, values = [] } of await select(hubUrl, `${name}[100y]`)) {
        const seen = new Set<number>();
        for (const [seconds, value] of values) {
          const batch = Math.round((seconds * 1_000 - batchMs(0)) / 1_000);
          if (seen.has(batch)) duplicated++;
          else if (batch < 0 || batch >= acknowledged) unexplained++;
          else if (Number(value) === valueOf(batch, Number(metric["series"]))) right++;
          else wrong++;
          seen.add(batch);
        }
      }
      const pending = acknowledged * SERIES;
      return {
        acknowledged: pending,
        lost: pending - right - wrong,
        duplicated,
        wrong,
        unexplained,
      };
    },
  };
}
