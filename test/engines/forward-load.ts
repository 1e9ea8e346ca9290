// A sender that writes to a hub without pause and repeats each write until it is acknowledged, like Prometheus; and the
// samples that receivers have in the end, for comparison with the acknowledged ones.

import { setTimeout as sleep } from "node:timers/promises";

import { encodeWriteRequest } from "../../src/formats/remote-write/encode.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { compressSnappy } from "../../src/formats/snappy/compress.ts";
import { labelSet } from "../../src/model/labels.ts";

/** `series time value`, one per sample. */
export type Samples = string[];

export interface ForwardLoad {
  /** All acknowledged samples, in order. */
  readonly acknowledged: Samples;
  stop(): Promise<void>;
}

const metric = "forward_test";
const series = 40;

export function startForwardLoad(hubUrl: string, everyMs: number): ForwardLoad {
  const acknowledged: Samples = [];
  const end = new AbortController();
  const run = async (): Promise<void> => {
    for (let count = 0; !end.signal.aborted; count++) {
      const timeMs = Date.now();
      const builder = new BatchBuilder();
      const lines: string[] = [];
      for (let one = 0; one < series; one++) {
        const value = count * 1_000 + one / 8;
        builder.add(builder.series(labelSet({ __name__: metric, i: `${one}` })), timeMs, value);
        lines.push(`${one} ${timeMs} ${value}`);
      }
      await write(hubUrl, compressSnappy(encodeWriteRequest(builder.finish())));
      acknowledged.push(...lines);
      await sleep(everyMs);
    }
  };
  const ended = run();
  return {
    acknowledged,
    stop: async () => {
      end.abort();
      await ended;
    },
  };
}

async function write(hubUrl: string, body: Buffer): Promise<void> {
  for (;;) {
    try {
      const answer = await fetch(`${hubUrl}/api/v1/write`, {
        method: "POST",
        body,
        headers: { "content-encoding": "snappy", "content-type": "application/x-protobuf" },
      });
      if (answer.ok) return;
      if (answer.status < 500 && answer.status !== 429)
        throw new Error(`BUG: the hub answers ${answer.status}: ${await answer.text()}`);
    } catch (thrown) {
      if (thrown instanceof Error && thrown.message.startsWith("BUG")) throw thrown;
    }
    await sleep(50);
  }
}

/** Reads the samples through Prometheus's query API, which never returns a sample twice. */
export async function heldByApi(url: string): Promise<Samples> {
  const query = new URLSearchParams({ query: `${metric}[1h]`, time: `${Date.now() / 1_000}` });
  const answer = await fetch(`${url}/api/v1/query?${query.toString()}`);
  const { data } = (await answer.json()) as {
    data: { result: { metric: { i: string }; values: [number, string][] }[] };
  };
  return data.result.flatMap(({ metric: { i }, values }) =>
    values.map(([timeS, value]) => `${i} ${Math.round(timeS * 1_000)} ${value}`),
  );
}

/** Reads the samples through VictoriaMetrics's export, which includes duplicates; new samples appear with a delay. */
export async function heldByExport(url: string, atLeast: number): Promise<Samples> {
  for (let attempt = 0; ; attempt++) {
    const held = await exported(url);
    if (held.length >= atLeast || attempt === 20) return held;
    await sleep(500);
  }
}

async function exported(url: string): Promise<Samples> {
  const answer = await fetch(`${url}/api/v1/export?match[]=${metric}`);
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  return lines.flatMap((line) => {
    const held = JSON.parse(line) as {
      metric: { i: string };
      values: number[];
      timestamps: number[];
    };
    return held.values.map((value, at) => `${held.metric.i} ${held.timestamps[at]} ${value}`);
  });
}
