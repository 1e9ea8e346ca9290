import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { anonymousClient } from "../../base/fair/client-key.ts";
import { LiveStreams } from "./streams.ts";

const viewer = anonymousClient("10.0.0.1");
const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** A real response whose other end is a socket the test reads, or does not. */
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

const messages = (frame: string) => ({ fleet: () => '"fleet"', frame: () => frame });
/** More than the kernel's socket buffers take from a reader that does not read. */
const huge = `"${"x".repeat(16 * 1024 * 1024)}"`;

test("a page that does not read is not written to again, then let go", async () => {
  const streams = new LiveStreams(2);
  const { response } = await openPage();
  streams.add(response, huge, viewer);
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
  streams.add(slow.response, huge, viewer);
  streams.add(quick.response, '"fleet"', viewer);
  const received = new Promise<string>((resolve) => {
    let text = "";
    quick.socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("event: frame")) resolve(text);
    });
  });
  quick.socket.resume();
  await new Promise((resolve) => quick.response.write("", resolve));
  streams.send(messages('"now"'), false, 0);
  expect(await received).toContain('event: frame\ndata: "now"\n\n');
});

test("a page that catches up after devices changed gets the fleet first", async () => {
  const streams = new LiveStreams(1);
  const { response, socket } = await openPage();
  streams.add(response, huge, viewer);
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
  streams.add(response, '"fleet"', viewer);
  expect(streams.makeRoom(viewer)).toBe(false);
  const closed = new Promise((resolve) => response.once("close", resolve));
  socket.destroy();
  await closed;
  expect([streams.count, streams.makeRoom(viewer)]).toEqual([0, true]);
});

test("a client that has all pages open loses its newest to another, with the reason", async () => {
  const streams = new LiveStreams(3);
  const pages = [await openPage(), await openPage(), await openPage()];
  for (const { response } of pages) streams.add(response, '"fleet"', viewer);
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
  streams.add((await openPage()).response, '"fleet"', other);
  expect(await closed).toContain("event: closed");
  // Two against one: nobody has more than a fair share now.
  expect(streams.makeRoom(other)).toBe(false);
});
