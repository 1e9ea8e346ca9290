import { afterEach, expect, test, vi } from "vitest";

import { getJson } from "./http.js";

afterEach(() => vi.unstubAllGlobals());

/** A signal that counts its abort listeners. */
function countedSignal(): { abort: AbortController; listeners: () => number } {
  const abort = new AbortController();
  let count = 0;
  const { signal } = abort;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>): void => {
    count += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
    count -= 1;
    remove(...args);
  };
  return { abort, listeners: () => count };
}

test("a page's signal holds no listener of requests that have ended, however many they were", async () => {
  let asked = 0;
  vi.stubGlobal("fetch", async () => {
    asked += 1;
    return asked % 3 === 0 ? new Response("busy", { status: 503 }) : Response.json({ asked });
  });
  const { abort, listeners } = countedSignal();
  for (let request = 0; request < 50; request += 1) {
    await getJson(`api/x?n=${request}`, abort.signal).catch(() => undefined);
  }
  expect(asked).toBe(50);
  expect(listeners()).toBe(0);
});

test("equal requests in flight are one; it is aborted only with its last caller", async () => {
  let aborted = false;
  vi.stubGlobal(
    "fetch",
    async (_url: string, init: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        init.signal?.addEventListener("abort", () => {
          aborted = true;
          reject(new DOMException("aborted", "AbortError"));
        });
      }),
  );
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = Promise.allSettled([
    getJson("api/y", first.signal),
    getJson("api/y", second.signal),
  ]);
  await Promise.resolve();
  first.abort();
  expect(aborted).toBe(false);
  second.abort();
  expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(aborted).toBe(true);
});
