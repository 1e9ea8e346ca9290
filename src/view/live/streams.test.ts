import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { constants, createGunzip } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { anonymousClient } from "../../base/fair/client-key.ts";
import { LiveStreams, sse } from "./streams.ts";

const viewer = anonymousClient("10.0.0.1");
const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** A real response whose peer is a socket that the test reads, or does not read. */
async function openPage(): Promise<{ response: ServerResponse; socket: Socket }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.pause();
  const response = new Promise<ServerResponse>((resolve) =>
    server.once("request", (_request, answer) => resolve(answer)),
  );
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  closing.push(() => {
    socket.destroy();
    server.close();
  });
  return { response: await response, socket };
}

const messages = (frame: string, frameMs = 0, baseMs?: number) => ({
  fleet: () => '"fleet"',
  frame: () => frame,
  changes: (base: number) => (base === baseMs ? '"changes"' : undefined),
  frameMs,
});
const whole = { isGzip: false, takesChanges: false, takesColumns: false };
const fleetEvent = (json: string): Buffer => sse("fleet", json).bytes(false);
/** More than the kernel's socket buffers accept without a reader. */
const huge = `"${"x".repeat(16 * 1024 * 1024)}"`;

test("a page that does not read is not written to again, then let go", async () => {
  const streams = new LiveStreams(2);
  const { response } = await openPage();
  streams.add(response, fleetEvent(huge), 0, viewer, whole);
  const waiting = response.writableLength;
  expect(waiting).toBeGreaterThan(0);
  for (let nowMs = 0; nowMs <= 14_000; nowMs += 1_000) streams.send(messages(huge), false, nowMs);
  expect(response.writableLength).toBe(waiting);
  expect(streams.count).toBe(1);
  streams.send(messages(huge), false, 16_000);
  expect([streams.count, response.destroyed]).toEqual([0, true]);
});

test("a slow page does not hold up the others", async () => {
  const streams = new LiveStreams(2);
  const [slow, quick] = [await openPage(), await openPage()];
  streams.add(slow.response, fleetEvent(huge), 0, viewer, whole);
  streams.add(quick.response, fleetEvent('"fleet"'), 0, viewer, whole);
  const framed = new Promise<string>((resolve) => {
    let text = "";
    quick.socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("event: frame")) resolve(text);
    });
  });
  quick.socket.resume();
  await new Promise((resolve) => quick.response.write("", resolve));
  streams.send(messages('"now"'), false, 0);
  expect(await framed).toContain('event: frame\ndata: "now"\n\n');
});

test("a page that catches up after devices changed gets the fleet first", async () => {
  const streams = new LiveStreams(1);
  const { response, socket } = await openPage();
  streams.add(response, fleetEvent(huge), 0, viewer, whole);
  streams.send(messages('"missed"'), true, 0);
  const drained = new Promise((resolve) => response.once("drain", resolve));
  let tail = "";
  const caughtUp = new Promise<string>((resolve) =>
    socket.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString("latin1")).slice(-200);
      if (tail.includes('data: "fleet"')) resolve(tail);
    }),
  );
  socket.resume();
  await drained;
  streams.send(messages('"later"'), false, 1_000);
  const text = await caughtUp;
  expect(text).not.toContain("missed");
  expect(text).not.toContain("later");
});

test("a page that goes away is forgotten", async () => {
  const streams = new LiveStreams(1);
  const { response, socket } = await openPage();
  streams.add(response, fleetEvent('"fleet"'), 0, viewer, whole);
  expect(streams.makeRoom(viewer)).toBe(false);
  const closed = new Promise((resolve) => response.once("close", resolve));
  socket.destroy();
  await closed;
  expect([streams.count, streams.makeRoom(viewer)]).toEqual([0, true]);
});

test("a client that has all pages open loses its newest to another, with the reason", async () => {
  const streams = new LiveStreams(3);
  const pages = [await openPage(), await openPage(), await openPage()];
  for (const { response } of pages) streams.add(response, fleetEvent('"fleet"'), 0, viewer, whole);
  expect(streams.makeRoom(viewer)).toBe(false);
  const newest = pages[2];
  const closed = new Promise<string>((resolve) => {
    let text = "";
    newest?.socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    newest?.socket.on("end", () => resolve(text));
    newest?.response.on("finish", () => setTimeout(() => resolve(text), 50));
  });
  newest?.socket.resume();
  const other = anonymousClient("10.0.0.2");
  expect(streams.makeRoom(other)).toBe(true);
  streams.add((await openPage()).response, fleetEvent('"fleet"'), 0, other, whole);
  expect(await closed).toContain("event: closed");
  // Two pages against one: no client exceeds its fair share now.
  expect(streams.makeRoom(other)).toBe(false);
});

/** Returns everything that the socket of a page receives, decompressed if it is gzip. */
async function received(socket: Socket, until: string, isGzip: boolean): Promise<string> {
  const unpack = isGzip ? createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }) : undefined;
  return new Promise((resolve) => {
    let [text, isBody] = ["", false];
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      if (text.includes(until)) resolve(text);
    };
    unpack?.on("data", read);
    socket.on("data", (chunk: Buffer) => {
      // Chunked transfer encoding: the data between the chunk sizes.
      for (const part of isBody ? [chunk] : [chunk.subarray(chunk.indexOf("\r\n\r\n") + 4)]) {
        isBody = true;
        if (unpack === undefined) read(part);
        else unchunk(part).forEach((one) => unpack.write(one));
      }
    });
    socket.resume();
  });
}

function unchunk(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, end).toString(), 16);
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return parts;
}

test("a page that has the frame before gets the changes, one that missed it the whole frame", async () => {
  const streams = new LiveStreams(2);
  const [next, late] = [await openPage(), await openPage()];
  const changes = { isGzip: false, takesChanges: true, takesColumns: false };
  streams.add(next.response, undefined, 1_000, viewer, changes);
  streams.add(late.response, undefined, 500, viewer, changes);
  streams.send(messages('"first"', 2_000, 1_000), false, 0);
  expect(await received(next.socket, "event: changes", false)).not.toContain("first");
  expect(await received(late.socket, "event: frame", false)).not.toContain("changes");
  await new Promise((resolve) => late.response.write("", resolve));
  streams.send(messages('"second"', 3_000, 2_000), false, 0);
  expect(await received(late.socket, "event: changes", false)).not.toContain("second");
});

test("all pages share one compressed message, whatever they were sent before", async () => {
  const streams = new LiveStreams(2);
  const gzip = { isGzip: true, takesChanges: false, takesColumns: false };
  const [first, second] = [await openPage(), await openPage()];
  const fleet = await sse("fleet", '"a fleet"').bytesLater(true);
  streams.add(first.response, fleet, 0, viewer, gzip);
  streams.add(second.response, undefined, 0, viewer, gzip);
  const both = Promise.all([
    received(first.socket, '"two"', true),
    received(second.socket, '"two"', true),
  ]);
  for (const frame of ['"one"', '"two"']) {
    streams.send(messages(frame), false, 0);
    streams.beat();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const [one, two] = await both;
  expect(one).toContain('event: fleet\ndata: "a fleet"\n\n');
  expect(two).not.toContain("a fleet");
  for (const text of [one, two]) {
    expect(text.startsWith("retry: 1000\n\n")).toBe(true);
    expect(text).toContain('event: frame\ndata: "one"\n\n');
    expect(text).toContain('event: frame\ndata: "two"\n\n');
  }
});
