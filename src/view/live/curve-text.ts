/**
 * A curve as text: one character per point for small differences from the point before, so that curves compress better than JSON
 * numbers and parse as one string.
 *
 *   ~        no reading
 *   CHARACTER of `digits`: the difference in units of `grain` steps of the history, as zigzag: 0, -1, 1, -2 …
 *   | NUMBER ;  a larger difference
 */
import { stepOf, valueOfStep } from "./history.ts";
import type { HistoryKey } from "./protocol.ts";

const ABSENT = "~";
const [LARGE, END] = ["|", ";"];
/** Printable ASCII without the signs above, without what JSON escapes, and without "<", which ends a script element. */
const digits = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).filter(
  (one) => !'"\\<|~'.includes(one),
);
const digitValues = new Map(digits.map((digit, at) => [digit, at]));

export function encodeCurve(
  key: HistoryKey,
  points: readonly (number | null)[],
  grain = 1,
): string {
  let [text, last] = ["", 0];
  for (const point of points) {
    const step = stepOf(key, point);
    if (step === undefined) {
      text += ABSENT;
      continue;
    }
    const unit = Math.round(step / grain);
    const difference = unit - last;
    const zigzag = difference >= 0 ? 2 * difference : -2 * difference - 1;
    text += digits[zigzag] ?? `${LARGE}${difference}${END}`;
    last = unit;
  }
  return text;
}

export function decodeCurve(key: HistoryKey, text: string, grain = 1): (number | null)[] {
  const points: (number | null)[] = [];
  let last = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (sign === ABSENT) {
      points.push(null);
      continue;
    }
    if (sign === LARGE) {
      const end = text.indexOf(END, at);
      last += Number(text.slice(at + 1, end));
      at = end;
    } else {
      const zigzag = digitValues.get(sign) ?? 0;
      last += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    }
    points.push(valueOfStep(key, last * grain));
  }
  return points;
}
