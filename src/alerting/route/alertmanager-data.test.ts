/** Results of Alertmanager's own packages for the same inputs: see testdata/README.md. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatError } from "../../base/error.ts";
import { parseRouting } from "./config.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { labelsText } from "./label-order.ts";
import type { LabelMatcher } from "./matchers.ts";
import { parseMatcher, parseMatchers } from "./parse-matchers.ts";
import { isWithin } from "./time-interval.ts";

interface Matcher {
  readonly name: string;
  readonly op: string;
  readonly value: string;
}

const data = JSON.parse(
  readFileSync(new URL("testdata/alertmanager.json", import.meta.url), "utf8"),
) as {
  readonly matchers: readonly {
    readonly input: string;
    readonly all?: readonly Matcher[];
    readonly one?: Matcher;
    readonly error?: string;
  }[];
  readonly times: readonly string[];
  readonly intervals: readonly { readonly yaml: string; readonly within?: readonly string[] }[];
  readonly labels: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly fingerprint: string;
    readonly text: string;
  }[];
};

const plain = ({ name, op, value }: LabelMatcher): Matcher => ({ name, op, value });

test.each(data.matchers)("matchers $input", ({ input, all = [], error }) => {
  let found: readonly Matcher[] | string;
  try {
    found = parseMatchers(input).map(plain);
  } catch (thrown) {
    found = formatError(thrown);
  }
  expect(found).toEqual(error ?? all);
});

// A newer Alertmanager rejects any brace here, where older ones take it as part of the value.
test.each(data.matchers.filter(({ input }) => !/^\{|\}$/.test(input)))(
  "one matcher $input",
  ({ input, one }) => {
    if (one === undefined) expect(() => parseMatcher(input)).toThrow(/matcher|regexp/);
    else expect(plain(parseMatcher(input))).toEqual(one);
  },
);

test.each(data.intervals)("time interval $yaml", async ({ yaml, within }) => {
  const inner = yaml.startsWith("{") ? yaml : `{${yaml}}`;
  const parsed = parseRouting(
    `{route: {receiver: a}, receivers: [{name: a}], time_intervals: [{name: t, time_intervals: [${inner}]}]}`,
    "alertmanager.yml",
  );
  if (within === undefined) {
    await expect(parsed).rejects.toThrow(/alertmanager.yml/);
    return;
  }
  const [interval] = (await parsed).timeIntervals.get("t") ?? [];
  if (interval === undefined) throw new Error("the interval is not there");
  expect(data.times.filter((time) => isWithin(interval, Date.parse(time)))).toEqual(within);
});

test.each(data.labels)("labels $text", ({ labels, fingerprint, text }) => {
  const map = new Map(Object.entries(labels));
  expect(fingerprintOf(map)).toBe(fingerprint);
  expect(labelsText(map)).toBe(text);
});
