/**
 * The daily energy balance of every GPU: its meter's count on one side, the energy assigned to jobs, idleness and gaps on the
 * other. Readings advance the meter as they arrive, assigned intervals the other side: a lost or duplicated interval shows as an
 * imbalance.
 */
import { dayMs, dayOf, type GapReason, type GpuDayBook } from "./record.ts";
import { type GpuTick, tickKey } from "./tick.ts";

/** The largest difference of the two sides, relative to the meter's, that rounding can cause. */
const closedWithin = 0.001;
/** Below this many joules a ratio is meaningless. */
const negligibleJoules = 1;

export function bookedJoules(book: GpuDayBook): number {
  return book.jobJoules + book.idleJoules + book.unattributedJoules;
}

/** The share of the meter's energy that is not assigned; negative if energy is assigned twice. */
export function bookError(book: GpuDayBook): number {
  const missing = book.meterJoules - bookedJoules(book);
  return Math.abs(missing) <= negligibleJoules ? 0 : missing / Math.max(1, book.meterJoules);
}

export const isClosed = (book: GpuDayBook): boolean => Math.abs(bookError(book)) <= closedWithin;

const nothing: readonly GpuDayBook[] = [];

type BookPart = "job" | "idle" | GapReason;

/** The books of one GPU by day: one, or two around midnight. */
export type GpuBooks = Map<string, GpuDayBook>;

export class DayBooks {
  readonly #books = new Map<string, GpuBooks>();
  /** The last finished book of each GPU: a clock that is set back past midnight reopens it. */
  readonly #finished = new Map<GpuBooks, GpuDayBook>();

  /** The open books. */
  *all(): IterableIterator<GpuDayBook> {
    for (const books of this.#books.values()) yield* books.values();
  }

  /** Books from which other `DayBooks` continue: also those that could be reopened. */
  *snapshot(): IterableIterator<GpuDayBook> {
    yield* this.#finished.values();
    yield* this.all();
  }

  restore(book: GpuDayBook): void {
    this.of(tickKey(book)).set(book.day, book);
  }

  /** Returns the books of a GPU by its key: always the same object, which callers may keep to avoid a lookup per tick. */
  of(key: string): GpuBooks {
    let books = this.#books.get(key);
    if (books === undefined) this.#books.set(key, (books = new Map()));
    return books;
  }

  /** Advances the meter from the previous reading to this one. */
  read(
    books: GpuBooks,
    tick: GpuTick,
    before: { readonly timeMs: number; readonly joules: number } | undefined,
  ): void {
    const { timeMs, joules } = tick;
    if (before === undefined) {
      const book = bookOf(books, tick, timeMs);
      book.firstJoules = book.lastJoules = joules;
      return;
    }
    const isReset = joules < before.joules;
    const isBack = timeMs <= before.timeMs;
    if (isBack) {
      this.#reopen(books, dayOf(timeMs));
      const book = bookOf(books, tick, timeMs);
      restartMeter(book, joules);
      // After a reset the counter's value is the energy since then.
      book.resetJoules += isReset ? joules : joules - before.joules;
      book.meterJoules = book.resetJoules;
      return;
    }
    const isSameDay = Math.floor(before.timeMs / dayMs) === Math.floor((timeMs - 1) / dayMs);
    let fromJoules = before.joules;
    if (isReset) {
      fromJoules = 0;
      restartMeter(bookOf(books, tick, before.timeMs), 0);
    }
    if (isSameDay) {
      moveMeter(books, tick, before.timeMs, fromJoules, joules);
      return;
    }
    const perMs = (joules - fromJoules) / (timeMs - before.timeMs);
    let fromMs = before.timeMs;
    while (fromMs < timeMs) {
      const toMs = Math.min(timeMs, Math.floor(fromMs / dayMs) * dayMs + dayMs);
      const at = (ms: number): number =>
        ms === timeMs ? joules : fromJoules + (ms - before.timeMs) * perMs;
      // A day that begins again after its clock was set back.
      const again = fromMs === before.timeMs ? undefined : books.get(dayOf(fromMs));
      if (again !== undefined) restartMeter(again, at(fromMs));
      moveMeter(books, tick, fromMs, at(fromMs), at(toMs));
      fromMs = toMs;
    }
  }

  /** Assigns a piece of an interval; the piece must lie within one day. */
  assign(
    books: GpuBooks,
    tick: GpuTick | Omit<GpuTick, "joules" | "meter">,
    atMs: number,
    seconds: number,
    joules: number,
    part: BookPart,
  ): void {
    const book = bookOf(books, tick, atMs);
    if (part === "job") {
      book.jobJoules += joules;
      book.heldSeconds += seconds;
    } else if (part === "idle") {
      book.idleJoules += joules;
      book.idleSeconds += seconds;
    } else {
      book.unattributedJoules += joules;
      book.unattributedSeconds += seconds;
      const gap = (book.gaps[part] ??= { seconds: 0, joules: 0 });
      gap.seconds += seconds;
      gap.joules += joules;
    }
  }

  /** Removes and returns the books of past days to which nothing can be added any more. */
  takeFinished(books: GpuBooks, settledMs: number): readonly GpuDayBook[] {
    if (books.size <= 1) return nothing;
    const finished: GpuDayBook[] = [];
    for (const [day, book] of books) {
      if (Date.parse(day) + dayMs > settledMs) continue;
      finished.push(book);
      books.delete(day);
      this.#finished.set(books, book);
    }
    return finished;
  }

  #reopen(books: GpuBooks, day: string): void {
    const finished = this.#finished.get(books);
    if (finished?.day !== day || books.has(day)) return;
    books.set(day, finished);
    this.#finished.delete(books);
  }
}

/** The meter counts from another value: what it has counted is kept. */
function restartMeter(book: GpuDayBook, joules: number): void {
  book.resetJoules += book.lastJoules - book.firstJoules;
  book.firstJoules = book.lastJoules = joules;
}

/** Advances the meter of the day that contains `fromMs`. */
function moveMeter(
  books: GpuBooks,
  tick: GpuTick,
  fromMs: number,
  fromJoules: number,
  toJoules: number,
): void {
  const known = books.get(dayOf(fromMs));
  const book = known ?? bookOf(books, tick, fromMs);
  book.meter = tick.meter;
  if (known === undefined) book.firstJoules = fromJoules;
  book.lastJoules = toJoules;
  book.meterJoules = book.resetJoules + book.lastJoules - book.firstJoules;
}

function bookOf(
  books: GpuBooks,
  tick: Omit<GpuTick, "joules" | "meter"> & { readonly meter?: GpuTick["meter"] },
  atMs: number,
): GpuDayBook {
  const day = dayOf(atMs);
  let book = books.get(day);
  if (book === undefined) {
    const { uuid, host, gpu, model, simulated } = tick;
    book = { day, uuid, host, gpu, model, simulated, ...emptySums() };
    books.set(day, book);
  }
  if (tick.meter !== undefined) book.meter = tick.meter;
  return book;
}

const emptySums = () => ({
  meter: "hardware" as const,
  firstJoules: 0,
  lastJoules: 0,
  resetJoules: 0,
  meterJoules: 0,
  jobJoules: 0,
  idleJoules: 0,
  unattributedJoules: 0,
  heldSeconds: 0,
  idleSeconds: 0,
  unattributedSeconds: 0,
  gaps: {},
});
