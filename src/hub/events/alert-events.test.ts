import { expect, test } from "vitest";
import type { PostableAlert } from "../../alerting/alert.ts";
import type { NewEvent } from "./event.ts";
import type { AlertSink } from "../alerts/sink.ts";
import { findOngoingAlerts, withTimeline } from "./alert-events.ts";

const sink = { put: () => undefined } as unknown as AlertSink;
const hot = (startsAtMs: number, endsAtMs?: number): PostableAlert =>
  ({
    labels: new Map([["alertname", "Hot"]]),
    annotations: {},
    startsAtMs,
    ...(endsAtMs !== undefined && { endsAtMs }),
  }) as unknown as PostableAlert;

/** Simulates a run of the hub: the alerts it receives, after the events of an earlier run on the timeline. */
function run(left: readonly NewEvent[], heard: readonly PostableAlert[]): NewEvent[] {
  const reported: NewEvent[] = [];
  const events = { add: (event: NewEvent) => (reported.push(event), undefined) };
  const watched = withTimeline(
    sink,
    events,
    () => 1e6,
    findOngoingAlerts(left.map(({ key }) => key)),
  );
  for (const alert of heard) void watched.put([alert]);
  return reported;
}
const states = (events: readonly NewEvent[]) => events.map(({ state, timeMs }) => [state, timeMs]);

test("an alert that goes on firing after a restart is not recorded as firing again, and its end is recorded", () => {
  const before = run([], [hot(1_000)]);
  expect(states(before)).toEqual([["firing", 1_000]]);
  const after = run(before, [hot(5_000), hot(5_000), hot(5_000, 9_000)]);
  expect(states(after)).toEqual([["resolved", 9_000]]);
});

test("one that was over before the restart, and one that fires another time after it, are reported", () => {
  const before = run([], [hot(1_000), hot(1_000, 2_000)]);
  expect(states(run(before, [hot(5_000)]))).toEqual([["firing", 5_000]]);
  expect(states(run(run([], [hot(1_000)]), [hot(5_000), hot(7_000)]))).toEqual([["firing", 7_000]]);
});
