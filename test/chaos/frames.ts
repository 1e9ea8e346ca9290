// The ledger of spooled frames: every frame on its way to the hub is recorded, sample by sample, and afterwards each is
// queried from the hub. Spool positions increase by one, and by exactly one leap at a start of the agent, so a frame
// that an agent accepted and never sent shows as a gap.

import { gunzipSync } from "node:zlib";

import { type HubLocation, queryHub } from "../../engines/push.ts";
import type { RelayedRequest } from "../../engines/repeating-relay.ts";
import type { PushFrame } from "../../src/formats/frames/frame.ts";
import type { LayoutDefinition } from "../../src/formats/frames/layout.ts";
import { contentType, readRequest } from "../../src/formats/frames/request.ts";
import { labelSet } from "../../src/model/labels.ts";
import { presence } from "../../src/model/presence.ts";
import type { SampleVerdict } from "./counts.ts";

/** The leap that src/pipeline/spool/open.ts adds to the last position at a start. */
const restartLeap = 2 ** 20;

interface Sent {
  readonly instance: string;
  readonly job: string;
  /** By sequence, of one spool. */
  readonly frames: Map<number, PushFrame>;
}

export interface MissingFrames {
  /** The first lost samples, for debugging. */
  readonly missing: readonly string[];
  /** Frames that were never sent, or that are not completely stored. */
  readonly lostFrames: number;
}

export interface FrameLedger {
  note(request: RelayedRequest): void;
  /** Number of frames that were sent more than once. */
  readonly repeats: () => number;
  readonly frames: () => number;
  /** Compares with the hub. Agents whose clock was set may have two readings with one timestamp; either is correct. */
  judge(place: HubLocation): Promise<SampleVerdict & MissingFrames>;
}

type Expected = Map<string, Map<number, Set<number>>>;

export function openFrameLedger(): FrameLedger {
  const layouts = new Map<string, LayoutDefinition>();
  const spools = new Map<string, Sent>();
  let repeats = 0;
  const known = {
    layout: (hash: string) => layouts.get(hash),
    learnLayout: (layout: LayoutDefinition) => void layouts.set(layout.hash, layout),
    learnDevices: () => undefined,
    learnMetric: () => undefined,
  };
  return {
    repeats: () => repeats,
    frames: () => [...spools.values()].reduce((sum, { frames }) => sum + frames.size, 0),
    note: ({ headers, body }) => {
      if (headers["content-type"] !== contentType) return;
      const plain = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      const { hello, frames } = readRequest(plain, () => known);
      const { instance, job, session } = hello;
      const sent: Sent = spools.get(session) ?? { instance, job, frames: new Map() };
      spools.set(session, sent);
      for (const frame of frames) {
        const before = sent.frames.get(frame.sequence);
        if (before !== undefined) repeats++;
        // A retry may repeat a frame with the wrong timestamp after the hub has accepted the corrected one.
        const offBy = ({ timeMs }: PushFrame): number => Math.abs(timeMs - Date.now());
        if (before === undefined || offBy(frame) <= offBy(before))
          sent.frames.set(frame.sequence, frame);
      }
    },
    judge: async (place) => {
      const total = { acknowledged: 0, lost: 0, duplicated: 0, wrong: 0, unexplained: 0 };
      const missing: string[] = [];
      const byInstance = new Map<string, Expected>();
      let lostFrames = 0;
      for (const sent of spools.values()) {
        const gaps = gapsOf(sent);
        missing.push(...gaps.map(({ says }) => says));
        for (const { frames } of gaps) lostFrames += frames;
        const expected: Expected = byInstance.get(sent.instance) ?? new Map();
        byInstance.set(sent.instance, expected);
        for (const frame of sent.frames.values()) expect(expected, frame, sent, layouts);
      }
      for (const [instance, expected] of byInstance) {
        const found = await readStoredSamples(place, instance);
        const one = hold(expected, found);
        for (const key of Object.keys(total) as (keyof SampleVerdict)[]) total[key] += one[key];
        if (one.lost === 0) continue;
        const lost = missingOf(expected, found);
        for (const { key, timeMs } of lost.slice(0, 20))
          missing.push(`${key} at ${new Date(timeMs).toISOString()}`);
        lostFrames += framesOf(spools.values(), instance, layouts, lost);
      }
      const lost = Math.max(total.lost, lostFrames);
      return { ...total, lost, missing: missing.slice(0, 20), lostFrames };
    },
  };
}

/** Number of this agent's frames with at least one sample in `lost`. */
function framesOf(
  spools: Iterable<Sent>,
  instance: string,
  layouts: ReadonlyMap<string, LayoutDefinition>,
  lost: readonly Sample[],
): number {
  const gone = new Set(lost.map(({ key, timeMs }) => `${key}@${timeMs}`));
  let count = 0;
  for (const sent of spools) {
    if (sent.instance !== instance) continue;
    for (const frame of sent.frames.values()) {
      const own: Expected = new Map();
      expect(own, frame, sent, layouts);
      if ([...own.keys()].some((key) => gone.has(`${key}@${frame.timeMs}`))) count++;
    }
  }
  return count;
}

function gapsOf({ instance, frames }: Sent): { says: string; frames: number }[] {
  const gaps: { says: string; frames: number }[] = [];
  let last = 0;
  for (const sequence of [...frames.keys()].sort((left, right) => left - right)) {
    const step = sequence - last;
    if (step !== 1 && step !== restartLeap)
      gaps.push({
        says: `${instance}: ${sequence} comes after ${last}`,
        frames: (step - 1) % restartLeap,
      });
    last = sequence;
  }
  return gaps;
}

function expect(
  expected: Expected,
  frame: PushFrame,
  { job, instance }: Sent,
  layouts: ReadonlyMap<string, LayoutDefinition>,
): void {
  const layout = layouts.get(frame.layout);
  if (layout === undefined) throw new Error("BUG: a frame was read without its layout");
  layout.series.forEach(({ metric, suffix, labels }, slot) => {
    if (frame.presence[slot] !== presence.present) return;
    const all = { job, instance, ...Object.fromEntries(labels) };
    const key = keyOf({ ...all, __name__: metric.name + suffix });
    const times = expected.get(key) ?? new Map<number, Set<number>>();
    expected.set(key, times);
    const values = times.get(frame.timeMs) ?? new Set();
    times.set(frame.timeMs, values.add(frame.values[slot] ?? Number.NaN));
  });
}

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(labelSet(labels));

type StoredSamples = readonly {
  readonly key: string;
  readonly samples: readonly (readonly [number, number])[];
}[];

/** Reads all raw samples of an agent, with an hour of margin because clocks may have been wrong. */
async function readStoredSamples(place: HubLocation, instance: string): Promise<StoredSamples> {
  const nowMs = Date.now();
  const names = await queryHub(
    place,
    `count by (__name__) (last_over_time({instance="${instance}",__name__!="up"}[12h]))`,
    nowMs + 3_600_000,
  );
  const found: { key: string; samples: (readonly [number, number])[] }[] = [];
  for (const { metric: name } of names) {
    const query = `${name["__name__"]}{instance="${instance}"}[12h]`;
    for (const { metric, values = [] } of await queryHub(place, query, nowMs + 3_600_000))
      found.push({
        key: keyOf(metric),
        samples: values.map(([seconds, value]) => [Math.round(seconds * 1_000), Number(value)]),
      });
  }
  return found;
}

interface Sample {
  readonly key: string;
  readonly timeMs: number;
}

function missingOf(expected: Expected, found: StoredSamples): Sample[] {
  const there = new Map(found.map(({ key, samples }) => [key, new Set(samples.map(([at]) => at))]));
  return [...expected].flatMap(([key, times]) =>
    [...times.keys()]
      .filter((timeMs) => there.get(key)?.has(timeMs) !== true)
      .map((timeMs) => ({ key, timeMs })),
  );
}

function hold(expected: Expected, found: StoredSamples): SampleVerdict {
  let [acknowledged, duplicated, wrong, unexplained, right] = [0, 0, 0, 0, 0];
  for (const times of expected.values()) acknowledged += times.size;
  for (const { key, samples } of found) {
    const seen = new Set<number>();
    for (const [timeMs, value] of samples) {
      const values = expected.get(key)?.get(timeMs);
      if (seen.has(timeMs)) duplicated++;
      else if (values === undefined) unexplained++;
      else if (values.has(value)) right++;
      else wrong++;
      seen.add(timeMs);
    }
  }
  return { acknowledged, lost: acknowledged - right - wrong, duplicated, wrong, unexplained };
}
