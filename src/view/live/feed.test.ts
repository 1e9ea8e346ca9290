import { afterEach, expect, test } from "vitest";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { LiveFeed } from "./feed.ts";

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
