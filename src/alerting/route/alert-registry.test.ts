/** End times of alerts while the clock changes: a resolved alert stays resolved. */
import { expect, test } from "vitest";
import { isResolved } from "../alert.ts";
import { AlertRegistry } from "./alert-registry.ts";

const labels = new Map([["alertname", "Hot"]]);
const aheadMs = 200_000;
const book = (): AlertRegistry => new AlertRegistry(() => 300_000);

test("an alert that ended while the clock was ahead stays ended when it is set back", () => {
  const alerts = book();
  alerts.put(
    { labels, annotations: {}, generatorUrl: "", startsAtMs: 1_000, endsAtMs: 240_000 },
    1_000,
  );
  const ended = alerts.put(
    { labels, annotations: {}, generatorUrl: "", startsAtMs: 1_000, endsAtMs: aheadMs },
    aheadMs,
  );
  expect(ended && isResolved(ended, 3_000)).toBe(true);
});

test("reported again after the clock was set back, its end is not in the future", () => {
  const alerts = book();
  alerts.put(
    { labels, annotations: {}, generatorUrl: "", startsAtMs: 1_000, endsAtMs: aheadMs },
    aheadMs,
  );
  const again = alerts.put(
    { labels, annotations: {}, generatorUrl: "", startsAtMs: 1_000, endsAtMs: 3_000 },
    3_000,
  );
  expect(again?.endsAtMs).toBe(3_000);
  expect(again && isResolved(again, 3_001)).toBe(true);
});

test("one that fires, with an end that is only valid until then, does not end by being reported", () => {
  const alert = book().put(
    { labels, annotations: {}, generatorUrl: "", startsAtMs: 1_000, endsAtMs: 240_000 },
    1_000,
  );
  expect(alert && isResolved(alert, 239_999)).toBe(false);
  expect(alert && isResolved(alert, 240_000)).toBe(true);
});
