/** Tests how long a request may hold memory. */
import { EventEmitter } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import { silentLog } from "../../base/log.ts";
import { QueryMemory } from "../../query/memory.ts";
import { reserveFor } from "./reserve.ts";

afterEach(() => void vi.useRealTimers());

function request(memory: QueryMemory) {
  const raw = Object.assign(new EventEmitter(), {
    destroy: vi.fn<() => void>(() => void raw.emit("close")),
  });
  const reservation = reserveFor(
    { queryMemory: memory, log: silentLog },
    { ip: "10.0.0.1", routeOptions: { url: "/api/v1/query" } } as FastifyRequest,
    { raw } as unknown as FastifyReply,
  );
  return { raw, reservation };
}

const memory = () => new QueryMemory({ totalBytes: 1e6, perClientBytes: 1e6, perQueryBytes: 1e6 });

test("what a request reserved is given back when its response is closed", () => {
  const shared = memory();
  const { raw, reservation } = request(shared);
  reservation?.take(1_000);
  expect(shared.bytesOf("10.0.0.1")).toBe(1_000);
  raw.emit("close");
  expect(shared.bytes).toBe(0);
});

test("a client that does not read its response loses it, and others get its memory", () => {
  vi.useFakeTimers();
  const shared = memory();
  const { raw, reservation } = request(shared);
  reservation?.take(1_000);
  vi.advanceTimersByTime(4 * 60_000);
  expect(shared.bytes).toBe(1_000);
  vi.advanceTimersByTime(2 * 60_000);
  expect([raw.destroy.mock.calls.length, shared.bytes]).toEqual([1, 0]);
});
