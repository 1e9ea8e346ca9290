/** Periods in questions, such as "last 3 weeks". */

/** A regular expression of all periods that `periodOf` reads. */
export const periodWords = String.raw`today|yesterday|last night|(?:last|past) (?:\d{1,4} )?(?:minute|hour|day|week|month)s?|this (?:week|month)|\d{1,4}(?:m|h|d|w)`;

const days: Readonly<Record<string, number>> = { minute: 0, hour: 0, day: 1, week: 7, month: 30 };

/** A duration back from now; undefined if the question names none. */
export function periodOf(words: string | undefined): string | undefined {
  if (words === undefined) return undefined;
  if (/^\d/.test(words)) return words;
  if (words === "today" || words === "last night") return "1d";
  if (words === "yesterday") return "2d";
  const [, count = "1", unit = "day"] =
    /(?:last|past|this) (?:(\d+) )?(minute|hour|day|week|month)/.exec(words) ?? [];
  if (unit === "minute") return `${count}m`;
  return unit === "hour" ? `${count}h` : `${Number(count) * (days[unit] ?? 1)}d`;
}
