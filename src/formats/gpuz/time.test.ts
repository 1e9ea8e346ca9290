import { expect, test } from "vitest";
import { LocalClock, localTimeMs, parseZone } from "./time.ts";

function instants(zoneName: string, ...dates: readonly string[]) {
  const zone = parseZone(zoneName);
  if (zone === undefined) throw new Error(`no zone ${zoneName}`);
  const clock = new LocalClock(zone);
  return dates.map((date) => {
    const { timeMs, note } = clock.instant(localTimeMs(date) ?? Number.NaN);
    return [new Date(timeMs).toISOString().slice(0, 23), note];
  });
}

test.each([
  ["2024-02-29 23:59:59", "2024-02-29T23:59:59.000Z"],
  ["2024-01-14 18:41:07.5", "2024-01-14T18:41:07.500Z"],
])("%s is a date", (text, iso) => expect(new Date(localTimeMs(text) ?? 0).toISOString()).toBe(iso));

test.each([
  "2023-02-29 00:00:00",
  "2024-01-14 24:00:00",
  "2024-1-14 01:00:00",
  "0000-00-00 00:00:00",
  "",
])("%j is no date", (text) => expect(localTimeMs(text)).toBeUndefined());

test.each([
  ["UTC", "2024-07-01T12:00:00.000"],
  ["Europe/Berlin", "2024-07-01T10:00:00.000"],
  ["America/New_York", "2024-07-01T16:00:00.000"],
  ["Asia/Kolkata", "2024-07-01T06:30:00.000"],
  ["+02:00", "2024-07-01T10:00:00.000"],
  [" 02:00", "2024-07-01T10:00:00.000"],
  ["-0330", "2024-07-01T15:30:00.000"],
  ["+9", "2024-07-01T03:00:00.000"],
])("noon in %s is %s", (zone, iso) =>
  expect(instants(zone, "2024-07-01 12:00:00")).toEqual([[iso, undefined]]),
);

test.each(["Mars/Olympus", "+25:00", "+02:75", "", "CEST please"])("%j is no zone", (zone) =>
  expect(parseZone(zone)).toBeUndefined(),
);

test("the hour that comes twice goes on where the row before stood, and says so", () => {
  expect(
    instants(
      "Europe/Berlin",
      "2024-10-27 01:59:59",
      "2024-10-27 02:00:00",
      "2024-10-27 02:59:59",
      "2024-10-27 02:00:00",
      "2024-10-27 02:59:59",
      "2024-10-27 03:00:00",
    ),
  ).toEqual([
    ["2024-10-26T23:59:59.000", undefined],
    ["2024-10-27T00:00:00.000", "twice"],
    ["2024-10-27T00:59:59.000", "twice"],
    ["2024-10-27T01:00:00.000", "twice"],
    ["2024-10-27T01:59:59.000", "twice"],
    ["2024-10-27T02:00:00.000", undefined],
  ]);
});

test("a clock set back by seconds inside that hour does not jump by an hour", () => {
  expect(
    instants("Europe/Berlin", "2024-10-27 01:59:00", "2024-10-27 02:30:10", "2024-10-27 02:30:08"),
  ).toEqual([
    ["2024-10-26T23:59:00.000", undefined],
    ["2024-10-27T00:30:10.000", "twice"],
    ["2024-10-27T00:30:08.000", "back"],
  ]);
});

test("an hour that never was is noted and not refused", () => {
  expect(
    instants("Europe/Berlin", "2024-03-31 01:59:59", "2024-03-31 02:30:00", "2024-03-31 03:00:00"),
  ).toEqual([
    ["2024-03-31T00:59:59.000", undefined],
    ["2024-03-31T01:30:00.000", "never"],
    ["2024-03-31T01:00:00.000", "back"],
  ]);
});

test("rows of one second stay apart and in order", () => {
  const date = "2024-01-14 18:41:07";
  expect(instants("UTC", date, date, date, "2024-01-14 18:41:08")).toEqual([
    ["2024-01-14T18:41:07.000", undefined],
    ["2024-01-14T18:41:07.001", "same-second"],
    ["2024-01-14T18:41:07.002", "same-second"],
    ["2024-01-14T18:41:08.000", undefined],
  ]);
});
