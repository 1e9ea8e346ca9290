import { afterEach, expect, test, vi } from "vitest";
import { delivery, first as gpuDevice } from "../../../test/fixtures/view/live.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { LiveFeed } from "./feed.ts";
import type { WireFleet } from "./protocol.ts";

const closing: LiveFeed[] = [];
afterEach(() => closing.splice(0).forEach((feed) => feed.close()));

/** A clock that advances by `lookMs` on every read, to simulate work. */
function feedWhereAllTakes(lookMs: number): { feed: LiveFeed; pass: (ms: number) => void } {
  let nowMs = 0;
  const feed = new LiveFeed({
    latest: new LatestFrames(),
    nowMs: () => (nowMs += lookMs),
    host: "h",
    version: "1",
    problems: () => [],
    maxPages: 1,
  });
  closing.push(feed);
  return { feed, pass: (ms) => void (nowMs += ms) };
}

test("pages that open in one rush share one description, for as long as making it took several times over", () => {
  const { feed, pass } = feedWhereAllTakes(10);
  const first = feed.describe(false);
  expect(feed.describe(false)).toBe(first);
  pass(10_000);
  expect(feed.describe(false)).not.toBe(first);
});

test("where it takes no time, everybody gets what is true now", () => {
  const { feed } = feedWhereAllTakes(0);
  expect(feed.describe(false)).not.toBe(feed.describe(false));
});

test("a page that opens after a quiet time gets the newest rows, and curves without a gap", () => {
  vi.useFakeTimers({ now: 1_000_000 });
  try {
    const latest = new LatestFrames();
    const feed = new LiveFeed({
      latest,
      nowMs: () => Date.now(),
      host: "h",
      version: "1",
      problems: () => [],
      maxPages: 1,
    });
    closing.push(feed);
    for (let watts = 1; watts <= 40; watts++) {
      latest.write(delivery("fast", Date.now(), [[gpuDevice, gpu.power, watts]], [gpuDevice]));
      vi.advanceTimersByTime(1_000);
    }
    const fleet = JSON.parse(feed.describe(false).toString()) as WireFleet;
    const power = fleet.columns.findIndex(({ key }) => key === "power");
    expect(fleet.frame.rows[0]?.values[power]).toBe(40);
    const curve = fleet.history.points[0]?.[fleet.history.keys.indexOf("power")] ?? [];
    const drawn = curve.slice(-31, -1);
    expect(drawn).not.toContain(null);
    expect([...drawn].sort((left, right) => Number(left) - Number(right))).toEqual(drawn);
  } finally {
    vi.useRealTimers();
  }
});
