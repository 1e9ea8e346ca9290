// The result table of a fuzzer run, in the documentation's format.

export interface Row {
  readonly target: string;
  readonly inputs: number;
  /** Branches of our own code; not counted over HTTP, which runs the uninstrumented build. */
  readonly reached: number | undefined;
  readonly newlyReached: number | undefined;
  readonly crashes: number;
  readonly hangs: number;
  readonly peakHeapBytes: number;
  readonly grows: boolean;
  readonly seconds: number;
}

const head = ["target", "inputs", "branches", "new", "crashes", "hangs", "peak heap", "grows", "s"];

export function formatTable(rows: readonly Row[]): string {
  const sum = (of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const cells = rows.map((row) => [
    row.target,
    String(row.inputs),
    String(row.reached ?? "–"),
    String(row.newlyReached ?? "–"),
    String(row.crashes),
    String(row.hangs),
    `${Math.round(row.peakHeapBytes / 1024 / 1024)} MiB`,
    row.grows ? "yes" : "no",
    row.seconds.toFixed(0),
  ]);
  cells.push([
    "**all**",
    String(sum(({ inputs }) => inputs)),
    "",
    "",
    String(sum(({ crashes }) => crashes)),
    String(sum(({ hangs }) => hangs)),
    "",
    rows.some(({ grows }) => grows) ? "yes" : "no",
    sum(({ seconds }) => seconds).toFixed(0),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`;
  return line(head) + line(widths.map((width) => "-".repeat(width))) + cells.map(line).join("");
}
