/** Collects a stream's energy books in memory, and formats books as a table. */
import { sourceContext } from "../../agent/run.ts";
import { GpulseError } from "../../base/error.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import { bookedJoules, bookError, isClosed } from "../../runs/jobs/day-books.ts";
import { FrameTicks } from "../../runs/jobs/frame-ticks.ts";
import { Ledger } from "../../runs/jobs/ledger.ts";
import type { GpuDayBook } from "../../runs/jobs/record.ts";
import { kilowattHours } from "../../view/jobs/text.ts";
import { openSources } from "../../sources/open.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { countOf } from "../command/quantity.ts";
import { resolveSettings } from "../command/settings.ts";
import { alignColumns } from "../table.ts";

export async function streamBooks(url: string, io: CommandIo): Promise<GpuDayBook[]> {
  const settings = await resolveSettings("agent", {}, io.env);
  const context = sourceContext(settings, commandLog(io, "warn", false));
  const [opened] = await openSources([url], context);
  const source = opened?.source;
  if (source?.shape !== "streaming")
    throw new GpulseError(
      "USAGE",
      "--source takes a stream that ends, such as sim:8?speed=max&interval=10s&duration=7d.",
    );
  const [ledger, ticks, derive] = [new Ledger(), new FrameTicks(), createDerive()];
  const books: GpuDayBook[] = [];
  const stopping = new AbortController();
  void io.stopped().then(() => stopping.abort());
  try {
    await source.run(async (frame) => {
      const delivery = {
        frame,
        source: "stream",
        tier: "stream",
        freshForMs: 60_000,
        devices: source.devices(),
      } as const;
      const { ticks: made } = ticks.take(derive(delivery));
      if (made.length > 0) books.push(...ledger.apply(["ticks", made]).books);
    }, stopping.signal);
  } finally {
    await source.close();
  }
  books.push(...ledger.apply(["ticks", ticks.flush()]).books, ...ledger.openBooks());
  return books;
}

const head = ["DAY", "GPUS", "METER", "JOBS", "IDLE", "UNATTRIBUTED", "ERROR", "STATUS"];

/** One line per day, or per GPU and day; books that do not balance are always listed. */
export function bookTable(books: readonly GpuDayBook[], all: boolean): string {
  if (books.length === 0) return "No GPU reported in this period.\n";
  const days = [...new Set(books.map(({ day }) => day))].sort();
  const rows = days.flatMap((day) => {
    const own = books.filter((book) => book.day === day);
    const listed = own.filter((book) => all || !isClosed(book));
    return [
      rowOf(day, String(own.length), own),
      ...listed.map((book) => rowOf("", `${book.host} GPU ${book.gpu}`, [book])),
    ];
  });
  const open = books.filter((book) => !isClosed(book)).length;
  const worst = Math.max(...books.map((book) => Math.abs(bookError(book))));
  const gaps = gapLines(books);
  return `${alignColumns([head, ...rows])}
${countOf(books.length, "book")} (one per GPU and day), ${open === 0 ? "all closed" : `${open} NOT closed`}; largest error ${(100 * worst).toFixed(4)} %.
${gaps}`;
}

function rowOf(day: string, name: string, books: readonly GpuDayBook[]): string[] {
  const sum = (of: (book: GpuDayBook) => number): number =>
    books.reduce((total, book) => total + of(book), 0);
  const meter = sum(({ meterJoules }) => meterJoules);
  const error = meter === 0 ? 0 : (meter - sum(bookedJoules)) / meter;
  return [
    day,
    name,
    kilowattHours(meter),
    kilowattHours(sum(({ jobJoules }) => jobJoules)),
    kilowattHours(sum(({ idleJoules }) => idleJoules)),
    kilowattHours(sum(({ unattributedJoules }) => unattributedJoules)),
    `${Math.abs(100 * error).toFixed(4)} %`,
    books.every(isClosed) ? "closed" : "OPEN",
  ];
}

function gapLines(books: readonly GpuDayBook[]): string {
  const reasons = new Map<string, [number, number]>();
  for (const { gaps } of books)
    for (const [reason, gap] of Object.entries(gaps)) {
      const [seconds, joules] = reasons.get(reason) ?? [0, 0];
      reasons.set(reason, [seconds + (gap?.seconds ?? 0), joules + (gap?.joules ?? 0)]);
    }
  return [...reasons]
    .map(
      ([reason, [seconds, joules]]) =>
        `  unattributed, ${reason}: ${kilowattHours(joules)} in ${(seconds / 3_600).toFixed(1)} h\n`,
    )
    .join("");
}
