import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Delivery, Sink } from "../sink.ts";
import {
  buffering,
  frameAt,
  MarkedLog,
  never,
  NumberedLog,
  pipeOf,
  untilAborted,
} from "../../../test/fixtures/pipeline/numbered-log.ts";

test("a pipe that ends when idle ends with everything stored", async () => {
  const source = new NumberedLog(5, untilAborted);
  const flushed: Delivery[] = [];
  const end = await pipeOf(source, [buffering(flushed)], { idleMs: 30 }).run(never());
  expect(end).toEqual({ why: "ended", checkpointed: true });
  expect(source.committed).toBe(5);
});

test("a sink that stalls for longer than the idle time does not end the pipe", async () => {
  const source = new MarkedLog(40, untilAborted);
  const flushed: Delivery[] = [];
  const inner = buffering(flushed);
  let stalls = 1;
  const sink: Sink = {
    ...inner,
    takesWhileFlushing: true,
    // Simulates a lake sink whose memory is full because HDFS does not respond.
    write: async (delivery) => {
      if (delivery.origin?.offset === 15 && stalls-- > 0) await sleep(200);
      inner.held.push(delivery);
    },
  };
  const end = await pipeOf(source, [sink], { idleMs: 30 }).run(never());
  expect(end).toMatchObject({ why: "ended", checkpointed: true });
  expect(flushed.length).toBe(40);
  expect(source.committed).toBe(40);
});

test("a flush that takes longer than the idle time does not end the pipe", async () => {
  const source = new NumberedLog(40, untilAborted);
  const flushed: Delivery[] = [];
  const inner = buffering(flushed);
  const flush = async (): Promise<void> => {
    const held = inner.held.splice(0);
    if (flushed.length === 0) await sleep(200);
    flushed.push(...held);
  };
  const end = await pipeOf(source, [{ ...inner, flush }], { idleMs: 30 }).run(never());
  expect(end).toMatchObject({ why: "ended", checkpointed: true });
  expect(flushed.length).toBe(40);
  expect(source.committed).toBe(40);
});

test("a source with unread records is not idle, however long nothing comes", async () => {
  const source = Object.assign(
    new NumberedLog(5, async (emit, signal) => {
      await sleep(200);
      await emit(frameAt(5), { origin: { log: "topic", partition: 3, offset: 5 } });
      source.unread = 0;
      await untilAborted(emit, signal);
    }),
    { unread: 1, unreadRecords: () => source.unread },
  );
  const flushed: Delivery[] = [];
  const end = await pipeOf(source, [buffering(flushed)], { idleMs: 30 }).run(never());
  expect(end).toEqual({ why: "ended", checkpointed: true, unread: 0 });
  expect(flushed.length).toBe(6);
});

test("records that arrive after an idle end are reported as unread", async () => {
  const source = Object.assign(new NumberedLog(5, untilAborted), {
    unread: 0,
    unreadRecords: () => source.unread,
  });
  const inner = buffering([]);
  const sink = { ...inner, flush: async () => void (source.unread = 7) };
  const end = await pipeOf(source, [sink], { idleMs: 30 }).run(never());
  expect(end).toMatchObject({ why: "ended", unread: 7 });
});
