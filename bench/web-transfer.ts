/**
 * What the fleet page transfers, as the proxy in front of the hub sees it, in two parts that do not depend on timing: the first
 * visit, which is the first response of every address and the first whole fleet or frame of the live stream; and updates, which
 * are its other events and every repeated request.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { constants, inflateRawSync } from "node:zlib";
import type { Browser } from "playwright-core";
import type { Pages, RecordedResponse } from "./web-pages.ts";
import { CELL } from "./web-fleet.ts";
import { openFresh } from "./web-measure.ts";

const ROOM_CURVE = ".room .chart .u-over";

export interface Transfer {
  /** What the first visit consists of, largest first. */
  readonly parts: readonly TransferPart[];
  readonly firstBytes: number;
  /** Live updates in the measured time, and their mean size. */
  readonly updates: number;
  readonly bytesPerUpdate: number;
  /** Updates and repeated requests. */
  readonly bytesPerSecond: number;
}

export interface TransferPart {
  readonly name: string;
  readonly bytes: number;
}

/** The end of a deflate block without data: the hub ends each event of a stream with one. */
const FLUSHED = Buffer.from([0x00, 0x00, 0xff, 0xff]);
const GZIP_HEADER_BYTES = 10;

interface StreamEvent {
  readonly name: string;
  readonly bytes: number;
}

/** After the last chart is drawn: the time for requests that follow from it. */
const SETTLE_MS = 3_000;

/** A page stays open for this long before, so that the hub's history of every GPU is full. */
const FULL_HISTORY_MS = 35_000;

/** Opens the page with an empty cache, waits until every GPU and the room's charts are drawn, and watches updates. */
export async function measureTransfer(
  browser: Browser,
  { gpulse, responses }: Pages,
  seconds: number,
): Promise<Transfer> {
  const before = responses.length;
  const opened = await openFresh(browser, gpulse, CELL);
  await opened.page.waitForSelector(ROOM_CURVE, { timeout: 180_000 });
  await sleep(SETTLE_MS);
  const settled = partsOf(responses.slice(before));
  const settledMs = performance.now();
  await sleep(seconds * 1_000);
  const elapsedSeconds = (performance.now() - settledMs) / 1_000;
  const after = partsOf(responses.slice(before));
  await opened.close();
  const isLive = ({ name }: StreamEvent): boolean => name === "changes" || name === "frame";
  const live = after.updates.filter(isLive).slice(settled.updates.filter(isLive).length);
  return {
    // An address that was requested only now, such as the details of something that happened meanwhile, counts too.
    parts: after.first.sort((left, right) => right.bytes - left.bytes),
    firstBytes: sum(after.first),
    updates: live.length,
    bytesPerUpdate: sum(live) / live.length,
    bytesPerSecond: (sum(after.updates) - sum(settled.updates)) / elapsedSeconds,
  };
}

/** Holds a fleet page open until the history that every further page gets is full. */
export async function fillHistory(browser: Browser, { gpulse }: Pages): Promise<void> {
  const opened = await openFresh(browser, gpulse, CELL);
  await sleep(FULL_HISTORY_MS);
  await opened.close();
}

const sum = (parts: readonly { readonly bytes: number }[]): number =>
  parts.reduce((total, { bytes }) => total + bytes, 0);

function partsOf(responses: readonly RecordedResponse[]): {
  first: TransferPart[];
  updates: StreamEvent[];
} {
  const [first, updates] = [new Map<string, number>(), [] as StreamEvent[]];
  for (const response of responses) {
    const name = addressOf(response.url);
    const isRepeated = first.has(name);
    if (!name.includes("/api/live?")) {
      const bytes =
        response.headBytes + sum(response.body.map(({ length }) => ({ bytes: length })));
      if (isRepeated) updates.push({ name, bytes });
      else first.set(name, bytes);
      continue;
    }
    const events = eventsOf(response);
    // A page that has the fleet from its HTML gets a whole frame first.
    const whole = events.find(({ name: event }) => event === "fleet" || event === "frame");
    const starts = events.filter((event) => event.name === "start" || event === whole);
    if (isRepeated) updates.push({ name, bytes: response.headBytes + sum(starts) });
    else first.set(name, response.headBytes + sum(starts));
    updates.push(...events.filter((event) => !starts.includes(event)));
  }
  return { first: [...first].map(([name, bytes]) => ({ name, bytes })), updates };
}

/** A query of another time range is the same address. */
function addressOf(address: string): string {
  const url = new URL(address, "http://proxy");
  for (const name of ["start", "end", "time", "from", "to", "since", "fleet"])
    url.searchParams.delete(name);
  return url.pathname + url.search.slice(0, 200);
}

function eventsOf({ body, isGzip }: RecordedResponse): readonly StreamEvent[] {
  if (!isGzip) throw new Error("BUG: a browser accepts gzip, and the stream is not compressed");
  const bytes = Buffer.concat(body);
  const found: StreamEvent[] = [];
  let from = GZIP_HEADER_BYTES;
  for (;;) {
    const end = bytes.indexOf(FLUSHED, from);
    if (end === -1) return found;
    const block = bytes.subarray(from, end + FLUSHED.length);
    from = end + FLUSHED.length;
    const text = inflateRawSync(block, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
    const [, name = "start"] = /^event: (\w+)/.exec(text) ?? [];
    found.push({ name, bytes: block.length });
  }
}
