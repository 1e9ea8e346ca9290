import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { GpulseError } from "../../base/error.ts";
import { silentLog } from "../../base/log.ts";
import type { PolledSource, SourceContext, StreamingSource } from "../../sources/source.ts";
import { systemClock } from "../../base/clock.ts";
import {
  buffering,
  frameAt,
  MarkedLog,
  never,
  NumberedLog,
  pipeOf,
  untilAborted,
} from "../../../test/fixtures/pipeline/numbered-log.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import type { Delivery, Sink } from "../sink.ts";
import { openSpool } from "../spool/open.ts";
import { DeadLetters } from "./dead-letters.ts";
import { SelfFrames } from "../../model/self-frames.ts";
import { collectPipe } from "../self.ts";
import { memoryShipping } from "../../sinks/shipping.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

test("at every checkpoint the source hears of no more than every sink holds, and at the end of all", async () => {
  const source = new NumberedLog(25);
  const [first, second]: [Delivery[], Delivery[]] = [[], []];
  const commit = source.commit.bind(source);
  const seen: number[] = [];
  source.commit = async () => {
    await commit();
    seen.push(Math.min(first.length, second.length) - source.committed);
  };
  const end = await pipeOf(source, [buffering(first), buffering(second)]).run(never());
  expect(end).toEqual({ why: "ended", checkpointed: true });
  expect(seen.every((ahead) => ahead >= 0)).toBe(true);
  expect(source.commits.length).toBe(3);
  expect(source.committed).toBe(25);
  expect(first.map(({ origin }) => origin?.offset)).toEqual([...Array(25).keys()]);
  expect(first[0]).toMatchObject({
    host: "far",
    origin: { log: "topic", partition: 3 },
    tier: "stream",
  });
});

/** A sink that spools its frames until `arrive` sends them. */
function spooling(): Sink & { arrive: () => void; readonly waiting: () => number } {
  let waiting = 0;
  const dropped = { records: 0, samples: 0 };
  const none = { full: dropped, old: dropped, damaged: dropped, disk: dropped };
  const ship = { sentRecords: 0, sentSamples: 0, refusedSamples: 0, retries: 0, lagSeconds: 0 };
  return {
    name: "spool",
    write: () => void waiting++,
    shipping: () => ({
      ship: { name: "spool", ...ship },
      spool: {
        bytes: waiting * 100,
        diskBytes: waiting * 100,
        records: waiting,
        samples: 0,
        dropped: none,
        damagedBytes: 0,
      },
    }),
    arrive: () => (waiting = 0),
    waiting: () => waiting,
    close: () => {},
  };
}

test("what another process would go on with is committed when it has arrived, not while it waits in a spool here", async () => {
  const source = Object.assign(new NumberedLog(10, untilAborted), { sharesWork: true });
  const sink = spooling();
  const stop = new AbortController();
  const running = pipeOf(source, [sink]).run(stop.signal);
  await expect.poll(sink.waiting).toBe(10);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(source.commits).toEqual([]);
  sink.arrive();
  await expect.poll(() => source.commits).toEqual([10]);
  stop.abort();
  await running;
});

test("stopped while it waits in a spool, it is left to be read again", async () => {
  const source = Object.assign(new NumberedLog(10, untilAborted), { sharesWork: true });
  const sink = spooling();
  const stop = new AbortController();
  const running = pipeOf(source, [sink]).run(stop.signal);
  await expect.poll(sink.waiting).toBe(10);
  stop.abort();
  expect(await running).toEqual({ why: "stopped", checkpointed: false });
  expect(source.committed).toBe(0);
});

test("frames that come during a checkpoint wait until it is over", async () => {
  const order: string[] = [];
  let open = (): void => {};
  const sink: Sink = {
    name: "slow",
    write: ({ frame }) => void order.push(`write ${frame.timeMs}`),
    flush: async () => {
      order.push("flush");
      await new Promise<void>((resolve) => (open = resolve));
      order.push("flushed");
    },
    close: () => {},
  };
  const source = new NumberedLog(3);
  const running = pipeOf(source, [sink], { checkpointFrames: 2 }).run(never());
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(order).toEqual(["write 0", "write 1", "flush"]);
  expect(source.committed).toBe(0);
  open();
  await new Promise((resolve) => setTimeout(resolve, 20));
  open();
  await running;
  expect(order).toEqual(["write 0", "write 1", "flush", "flushed", "write 2", "flush", "flushed"]);
});

test("where sink and stream tell what came before from what comes after, frames go on during a checkpoint and wait for the next", async () => {
  const order: string[] = [];
  const open: (() => void)[] = [];
  const sink: Sink = {
    name: "lake",
    takesWhileFlushing: true,
    write: ({ frame }) => void order.push(`write ${frame.timeMs}`),
    flush: async () => {
      order.push("flush");
      await new Promise<void>((resolve) => open.push(resolve));
      order.push("flushed");
    },
    close: () => {},
  };
  const source = new MarkedLog(5);
  const running = pipeOf(source, [sink], { checkpointFrames: 2 }).run(never());
  await expect
    .poll(() => order)
    .toEqual(["write 0", "write 1", "flush", "write 2", "write 3", "write 4"]);
  expect(source.commits).toEqual([]);
  open.shift()?.();
  await expect.poll(() => open.length).toBe(1);
  expect(source.commits).toEqual([2]);
  open.shift()?.();
  expect(await running).toEqual({ why: "ended", checkpointed: true });
  expect(source.commits).toEqual([2, 5]);
});

test("of a checkpoint that fails beside the reading nothing is committed", async () => {
  const sink: Sink = {
    name: "lake",
    takesWhileFlushing: true,
    write: () => {},
    flush: () => Promise.reject(new Error("no space left")),
    close: () => {},
  };
  const source = new MarkedLog(5);
  await expect(pipeOf(source, [sink], { checkpointFrames: 2 }).run(never())).rejects.toMatchObject({
    code: "SINK_FAILED",
  });
  expect(source.commits).toEqual([]);
});

test("a checkpoint of a shared stream does not wait for what a sink took in memory after it began", async () => {
  const queue = memoryShipping("influxdb", {
    name: "influxdb",
    sentRecords: 0,
    sentSamples: 0,
    refusedSamples: 0,
    retries: 0,
    lagSeconds: 0,
    // There are always newer frames.
    waiting: 1,
    dropped: 0,
  });
  const sink: Sink = {
    name: "influxdb",
    takesWhileFlushing: true,
    write: () => {},
    flush: async () => {},
    shipping: () => queue,
    close: () => {},
  };
  const source = Object.assign(new MarkedLog(5), { sharesWork: true });
  expect(await pipeOf(source, [sink], { checkpointFrames: 2 }).run(never())).toEqual({
    why: "ended",
    checkpointed: true,
  });
  expect(source.commits.at(-1)).toBe(5);
});

test("a stream without anything to commit goes on during a checkpoint", async () => {
  const order: string[] = [];
  const open: (() => void)[] = [];
  const sink: Sink = {
    name: "kafka",
    takesWhileFlushing: true,
    write: ({ frame }) => void order.push(`write ${frame.timeMs}`),
    flush: () => {
      order.push("flush");
      return new Promise<void>((resolve) => open.push(resolve));
    },
    close: () => {},
  };
  const log = new MarkedLog(4);
  const file: StreamingSource = {
    shape: "streaming",
    devices: () => [],
    run: (emit, signal) => log.run(emit, signal),
    close: () => {},
  };
  const running = pipeOf(file, [sink], { checkpointFrames: 2 }).run(never());
  await expect.poll(() => order).toEqual(["write 0", "write 1", "flush", "write 2", "write 3"]);
  open.shift()?.();
  await expect.poll(() => open.length).toBe(1);
  open.shift()?.();
  expect(await running).toEqual({ why: "ended", checkpointed: true });
});

test("one sink that cannot tell makes all of them wait", async () => {
  const source = new MarkedLog(25);
  const flushed: Delivery[] = [];
  const going: Sink = { name: "lake", takesWhileFlushing: true, write: () => {}, close: () => {} };
  await pipeOf(source, [going, buffering(flushed)]).run(never());
  expect(source.marks).toBe(0);
  expect(source.commits).toEqual([10, 20, 25]);
});

test("time alone makes a checkpoint too, and only where something came", async () => {
  const clock = new FakeClock(0);
  const source = new NumberedLog(3, untilAborted);
  const stop = new AbortController();
  const flushed: Delivery[] = [];
  const pipe = pipeOf(source, [buffering(flushed)], { clock, checkpointMs: 5_000 });
  const running = pipe.run(stop.signal);
  await clock.advance(4_999);
  expect(source.committed).toBe(0);
  await clock.advance(1);
  expect(source.committed).toBe(3);
  expect(flushed.length).toBe(3);
  await clock.advance(60_000);
  expect(source.commits.length).toBe(1);
  stop.abort();
  expect(await running).toEqual({ why: "stopped", checkpointed: true });
});

test.each([
  ["write", { write: () => Promise.reject(new Error("no space left")) }],
  ["write that throws at once", { write: () => void JSON.parse("{") }],
  ["flush", { write: () => {}, flush: () => Promise.reject(new Error("no space left")) }],
])(
  "a %s that can never work ends the pipe with a code, and nothing is committed",
  async (_, part) => {
    const source = new NumberedLog(25);
    const bad: Sink = { name: "full-disk", close: () => {}, ...part };
    const failure = await pipeOf(source, [buffering([]), bad])
      .run(never())
      .catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(GpulseError);
    expect(failure).toMatchObject({ code: "SINK_FAILED" });
    expect((failure as Error).message).toMatch(/^full-disk cannot store/);
    expect(source.commits).toEqual([]);
  },
);

test("a sink's own coded error is kept as it is", async () => {
  const denied = new GpulseError("ACCESS_REFUSED", "the bucket is denied");
  const sink: Sink = { name: "s3", write: () => Promise.reject(denied), close: () => {} };
  await expect(pipeOf(new NumberedLog(1), [sink]).run(never())).rejects.toBe(denied);
});

test("what a stream gave before it broke is kept and committed, and its error is the pipe's", async () => {
  const source = new NumberedLog(7, async () => {
    throw new GpulseError("FILE_FORMAT", "the log is cut off");
  });
  const flushed: Delivery[] = [];
  await expect(pipeOf(source, [buffering(flushed)]).run(never())).rejects.toMatchObject({
    code: "FILE_FORMAT",
  });
  expect(flushed.length).toBe(7);
  expect(source.committed).toBe(7);
});

test("a stop makes a last checkpoint; one that a sink cannot do in time commits nothing more", async () => {
  const good = new NumberedLog(4, untilAborted);
  const stop = new AbortController();
  const flushed: Delivery[] = [];
  const running = pipeOf(good, [buffering(flushed)]).run(stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 10));
  stop.abort();
  expect(await running).toEqual({ why: "stopped", checkpointed: true });
  expect([good.committed, flushed.length]).toEqual([4, 4]);

  const away = new NumberedLog(4, untilAborted);
  const sink: Sink = {
    name: "away",
    write: () => {},
    flush: (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("away")))),
    close: () => {},
  };
  expect(await pipeOf(away, [sink]).run(AbortSignal.timeout(10))).toEqual({
    why: "stopped",
    checkpointed: false,
  });
  expect(away.commits).toEqual([]);
});

test("killed anywhere and started again, every frame is in the sink, and only the last stretch twice", async () => {
  const stored: number[] = [];
  let committed = 0;
  for (let killAfter = 1; killAfter < 60; killAfter += 7) {
    const source = new NumberedLog(60);
    source.committed = committed;
    const kept: Delivery[] = [];
    let written = 0;
    const sink = buffering(kept);
    const killed: Sink = {
      ...sink,
      // Simulates a kill: nothing resolves from here on, and data that was only in memory is lost.
      write: (delivery) => (++written > killAfter ? new Promise(() => {}) : sink.write(delivery)),
    };
    await pipeOf(source, [killed]).run(AbortSignal.timeout(15));
    stored.push(...kept.map(({ frame }) => frame.timeMs));
    committed = source.committed;
  }
  const source = new NumberedLog(60);
  source.committed = committed;
  const rest: Delivery[] = [];
  await pipeOf(source, [buffering(rest)]).run(never());
  stored.push(...rest.map(({ frame }) => frame.timeMs));
  expect([...new Set(stored)].sort((left, right) => left - right)).toEqual([...Array(60).keys()]);
});

test("dead letters go to the sinks that keep them, are counted, and alone are reason for a checkpoint", async () => {
  const clock = new FakeClock(0);
  const kept: string[] = [];
  const keeper: Sink = {
    name: "keeper",
    write: () => {},
    reject: async ({ reason }) => void kept.push(reason),
    close: () => {},
  };
  const letters = new DeadLetters([keeper], silentLog);
  const context: Pick<SourceContext, "reject"> = { reject: letters.reject };
  const source = new NumberedLog(0, async (_emit, signal) => {
    await context.reject?.({ content: Buffer.from("?"), reason: "no row", source: "log" });
    await untilAborted(_emit, signal);
  });
  const pipe = pipeOf(source, [keeper], { clock, letters, checkpointMs: 1_000 });
  const stop = new AbortController();
  const running = pipe.run(stop.signal);
  await clock.advance(1_000);
  expect(kept).toEqual(["no row"]);
  expect(source.commits.length).toBe(1);
  const frame = new SelfFrames().at(0, [(put) => collectPipe(put, pipe)]);
  const slot = frame.layout.series.findIndex(
    ({ metric, labels }) =>
      metric.name === "gpulse_pipe_dead_letters_total" &&
      labels.some(([name, value]) => name === "outcome" && value === "kept"),
  );
  expect(frame.values[slot]).toBe(1);
  stop.abort();
  await running;
});

test("a sink that rolls less often than the checkpoint interval is flushed by its own", async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const source: PolledSource = {
    shape: "polled",
    tiers: ["fast"],
    devices: () => [],
    read: (_tier, timeMs) => frameAt(timeMs),
    close: () => {},
  };
  let flushes = 0;
  const lake = { ...buffering([]), rollMs: 60_000, flush: async () => void flushes++ };
  const running = pipeOf(source, [lake], {
    clock,
    checkpointFrames: 1_000,
    checkpointMs: 5_000,
  }).run(stop.signal);
  await clock.advance(95_000);
  stop.abort();
  await running;
  expect(flushes).toBe(2);
});

test("polled sources flow through as well", async () => {
  const clock = new FakeClock(0);
  const flushed: Delivery[] = [];
  const stop = new AbortController();
  const source: PolledSource = {
    shape: "polled",
    tiers: ["fast"],
    devices: () => [],
    read: (_tier, timeMs) => frameAt(timeMs),
    close: () => {},
  };
  const running = pipeOf(source, [buffering(flushed)], { clock, checkpointFrames: 2 }).run(
    stop.signal,
  );
  await clock.advance(3_000);
  stop.abort();
  await running;
  expect(flushed.map(({ frame }) => frame.timeMs)).toEqual([0, 1_000, 2_000, 3_000]);
});

test("a spool that its writers can wait for loses nothing at its bound", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-room-"));
  folders.push(dir);
  const spool = openSpool({
    dir,
    maxBytes: 8_192,
    segmentBytes: 1_024,
    maxAgeMs: Infinity,
    clock: systemClock,
    log: silentLog,
  });
  const got: number[] = [];
  const writing = (async () => {
    for (let count = 0; count < 200; count++) {
      const bytes = Buffer.alloc(300, count);
      await spool.room(bytes.length);
      spool.append(bytes, 1);
    }
  })();
  while (got.length < 200) {
    await spool.readable(never());
    const records = spool.read(2_000);
    got.push(...records.map(({ bytes }) => bytes[0] ?? -1));
    const last = records.at(-1);
    if (last !== undefined) spool.acknowledge(last.position);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writing;
  expect(got).toEqual([...Array(200).keys()]);
  expect(spool.stats().dropped.full.records).toBe(0);
  await spool.close();
});

test("a stream and sinks that never wait let timers run: the pipe stops when asked", async () => {
  const source = new NumberedLog(1_000_000);
  const sink: Sink = { name: "counts", write: () => {}, close: () => {} };
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  const pipe = pipeOf(source, [sink], { checkpointFrames: 10_000_000 });
  expect((await pipe.run(stop.signal)).why).toBe("stopped");
  expect(pipe.frames).toBeLessThan(source.length);
});
