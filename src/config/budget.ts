/** Limits how much gpulse may change by itself: an absolute number of items and a share of all of them. Both limits apply. */
import * as v from "valibot";

export interface ActionBudget {
  readonly max: number;
  /** Share of all items of the kind, rounded down: a quarter of three is none. */
  readonly maxRatio: number;
}

const form = /^(\d{1,5}),(\d{1,3})%$/;
const takes = (things: string): string =>
  `a number of ${things} and a percentage, such as 1,25%; the percentage is at most 100`;

/** The schema of a budget as text. */
export const budgetText = (things: string) =>
  v.pipe(
    v.string(takes(things)),
    v.regex(form, takes(things)),
    v.check((text) => parseBudget(text).maxRatio <= 1, takes(things)),
  );

export function parseBudget(text: string): ActionBudget {
  const [, max = "0", percent = "0"] = form.exec(text) ?? [];
  return { max: Number(max), maxRatio: Number(percent) / 100 };
}

/** How many of `total` items may be changed. */
export const budgetLimit = ({ max, maxRatio }: ActionBudget, total: number): number =>
  Math.max(0, Math.min(max, Math.floor(maxRatio * total)));
