// The status table: one row per service. Pure text from statuses, so that a terminal, a pipe and a test get the same.

import type { ServiceStatus, State } from "./service.ts";
import type { Usage } from "./usage.ts";

export interface Row extends ServiceStatus {
  readonly usage?: Usage;
}

export interface TableOptions {
  readonly rows: readonly Row[];
  readonly nowMs: number;
  readonly columns: number;
  readonly lines: number;
  readonly colour: boolean;
  readonly title: string;
  readonly footer: readonly string[];
}

const COLOURS: Readonly<Record<State, string>> = {
  healthy: "32",
  waiting: "33",
  starting: "33",
  unhealthy: "31",
  restarting: "31",
  held: "35",
  stopping: "33",
  stopped: "90",
  skipped: "90",
};

const HEADS = ["SERVICE", "STATE", "PID", "ADDRESS", "UP", "AGAIN", "MEMORY", "LAST WORD"];
const RIGHT = new Set([2, 4, 5, 6]);

export function renderTable(options: TableOptions): string {
  const { rows, nowMs, columns, colour } = options;
  const cells = [HEADS, ...rows.map((row) => cellsOf(row, nowMs))];
  const widths = HEADS.map((_, index) =>
    Math.max(...cells.map((line) => (line[index] ?? "").length)),
  );
  const lines = cells.map((line, place) => {
    const state = rows[place - 1]?.state;
    const padded = line.map((cell, index) => {
      if (index === HEADS.length - 1) return cell;
      const width = widths[index] ?? 0;
      return RIGHT.has(index) ? cell.padStart(width) : cell.padEnd(width);
    });
    const text = cut(padded.join("  ").trimEnd(), columns);
    return colour ? painted(text, state, widths) : text;
  });
  const room = Math.max(2, options.lines - options.footer.length - 3);
  const shown =
    lines.length <= room
      ? lines
      : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more`];
  return [
    cut(options.title, columns),
    "",
    ...shown,
    "",
    ...options.footer.map((line) => cut(line, columns)),
  ].join("\n");
}

function cellsOf(row: Row, nowMs: number): readonly string[] {
  return [
    row.name,
    row.state,
    row.pid === undefined ? "" : String(row.pid),
    row.address.replace(/^\w+:\/\/(?:\w+@)?/, "").replace(/\/.*$/, ""),
    row.startedMs === undefined ? "" : spell(nowMs - row.startedMs),
    row.restarts === 0 ? "" : String(row.restarts),
    row.usage === undefined ? "" : megabytes(row.usage.pssBytes),
    plainWord(row.lastWord),
  ];
}

/** The prefixes of these programs' log messages: times, levels, process ids, tabs. */
const BEFORE = [
  /^.*?\bmsg="((?:[^"\\]|\\.)*)".*$/,
  /^\d+:\w \d+ \w+ \d+ [\d:.]+ [.*#-] (.*)$/,
  /^[\d-]+ [\d:.]+ \w+ \[\d+\] \w+:\s+(.*)$/,
  /^\d{4}[-/]\d\d[-/]\d\d[T ][\d:.]+Z?\s+(.*)$/,
  /^\d\d:\d\d:\d\d (?:info|warn|error)\s+(.*)$/,
];

/** Reduces a log line to its message. */
export function plainWord(line: string): string {
  const flat = line.replaceAll(/\s+/g, " ");
  if (flat.startsWith("{")) return jsonMessage(flat);
  for (const pattern of BEFORE) {
    const message = pattern.exec(flat)?.[1];
    if (message !== undefined) return message;
  }
  return flat;
}

function jsonMessage(line: string): string {
  try {
    const { message, msg } = JSON.parse(line) as Record<string, unknown>;
    const word = message ?? msg;
    return typeof word === "string" ? word : line;
  } catch {
    return line;
  }
}

function painted(text: string, state: State | undefined, widths: readonly number[]): string {
  if (state === undefined) return `\u001B[1m${text}\u001B[0m`;
  const from = (widths[0] ?? 0) + 2;
  const to = from + state.length;
  return `${text.slice(0, from)}\u001B[${COLOURS[state]}m${text.slice(from, to)}\u001B[0m${text.slice(to)}`;
}

const cut = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

export function spell(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`;
}
