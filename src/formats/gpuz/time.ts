/**
 * A log's date, `2020-03-16 17:13:05`, is local wall-clock time. This converts it to an instant in a time zone, and notes
 * ambiguities: an hour that occurs twice or never, or a clock that was set back. Time is never wrong without a note.
 */

export interface Zone {
  readonly name: string;
  /** How far the zone is ahead of UTC at an instant. */
  offsetMs(utcMs: number): number;
}

/** The date parsed as UTC, or undefined if the text is not a date. */
export function localTimeMs(text: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const back = new Date(ms);
  const asWritten =
    year >= 1970 &&
    back.getUTCMonth() === month - 1 &&
    back.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  return asWritten ? ms + Math.floor(Number(`0.${match[7] ?? "0"}`) * 1_000) : undefined;
}

/** Accepts an IANA name (`Europe/Berlin`), `UTC`, or an offset (`+02:00`, `-0530`, `+2`); undefined for anything else. */
export function parseZone(text: string): Zone | undefined {
  // A plus sign in a URL's query decodes to a space.
  const name = text.startsWith(" ") ? `+${text.slice(1)}` : text;
  if (/^(?:utc|z|gmt)$/i.test(name)) return { name: "UTC", offsetMs: () => 0 };
  const offset = /^([+-])(\d{1,2})(?::?(\d\d))?$/.exec(name);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0);
    if (minutes > 15 * 60 || Number(offset[3] ?? 0) > 59) return undefined;
    const ms = (offset[1] === "-" ? -minutes : minutes) * 60_000;
    return { name, offsetMs: () => ms };
  }
  try {
    return namedZone(name);
  } catch {
    return undefined;
  }
}

/** The time zone of this machine. */
export function machineZone(): Zone {
  return namedZone(new Intl.DateTimeFormat().resolvedOptions().timeZone);
}

const quarterMs = 900_000;

/** Offsets change on quarter-hour boundaries at the finest, so one lookup covers fifteen minutes of rows. */
function namedZone(name: string): Zone {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    calendar: "iso8601",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const known = new Map<number, number>();
  return {
    name,
    offsetMs(utcMs) {
      const quarter = Math.floor(utcMs / quarterMs) * quarterMs;
      const before = known.get(quarter);
      if (before !== undefined) return before;
      const parts = Object.fromEntries(
        format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]),
      );
      const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
      const offset = Date.UTC(year, month - 1, day, hour, minute, second) - quarter;
      if (known.size > 4_096) known.clear();
      known.set(quarter, offset);
      return offset;
    },
  };
}

export type TimeNote = "twice" | "never" | "back" | "same-second";

export interface LogInstant {
  readonly timeMs: number;
  /** Why the instant is ambiguous: the hour occurs twice or never in this zone, or the clock went back. */
  readonly note?: TimeNote;
}

/**
 * Computes the times of consecutive rows. It remembers the previous row, which resolves the repeated hour at the end of daylight
 * saving.
 */
export class LocalClock {
  readonly #zone: Zone;
  #lastLocalMs: number | undefined;
  #lastMs: number | undefined;
  #inSecond = 0;

  constructor(zone: Zone) {
    this.#zone = zone;
  }

  instant(localMs: number): LogInstant {
    const { timeMs, note } = this.#resolve(localMs);
    const before = this.#lastMs;
    const same = localMs === this.#lastLocalMs;
    // GPU-Z can log ten times a second but writes whole seconds: rows within one second get distinct milliseconds.
    this.#inSecond = same ? Math.min(this.#inSecond + 1, 999) : 0;
    this.#lastLocalMs = localMs;
    this.#lastMs = timeMs;
    if (same) return { timeMs: timeMs + this.#inSecond, note: "same-second" };
    if (before !== undefined && timeMs < before) return { timeMs, note: "back" };
    return note === undefined ? { timeMs } : { timeMs, note };
  }

  #resolve(localMs: number): LogInstant {
    const dayMs = 86_400_000;
    const [early, late] = [
      this.#zone.offsetMs(localMs - dayMs),
      this.#zone.offsetMs(localMs + dayMs),
    ];
    if (early === late) return { timeMs: localMs - early };
    const candidates = [...new Set([localMs - early, localMs - late])]
      .filter((utcMs) => utcMs + this.#zone.offsetMs(utcMs) === localMs)
      .sort((left, right) => left - right);
    const [first, second] = candidates;
    if (first === undefined) return { timeMs: localMs - early, note: "never" };
    if (second === undefined) return { timeMs: first };
    return { timeMs: this.#nearer(localMs, first, second), note: "twice" };
  }

  /** If the clock moved forward, the offset stays the same; if it went back, the instant nearer to the previous row is used. */
  #nearer(localMs: number, first: number, second: number): number {
    const [lastLocal, last] = [this.#lastLocalMs, this.#lastMs];
    if (lastLocal === undefined || last === undefined) return first;
    const forwardMs = localMs - lastLocal;
    if (forwardMs >= 0)
      return forwardMs < 2 * 3_600_000 && second - last === forwardMs ? second : first;
    return Math.abs(second - last) < Math.abs(first - last) ? second : first;
  }
}
