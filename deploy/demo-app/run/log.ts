// JSON log lines on stdout, one object per line, with their trace and span ids, so that logs and traces link to each other.
// Prompts and responses are never logged.

import { trace } from "@opentelemetry/api";

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];
export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;
export type Log = Readonly<Record<Level, (message: string, fields?: Fields) => void>>;

export interface LogOptions {
  readonly level?: string;
  readonly write?: (line: string) => void;
  readonly nowMs?: () => number;
}

export function makeLog(service: string, options: LogOptions = {}): Log {
  const least = LEVELS.indexOf((options.level ?? "info") as Level);
  const write = options.write ?? ((line: string) => void process.stdout.write(line));
  const nowMs = options.nowMs ?? Date.now;
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}): void => {
      if (LEVELS.indexOf(level) < least) return;
      const span = trace.getActiveSpan()?.spanContext();
      const ids = span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
      const time = new Date(nowMs()).toISOString();
      write(`${JSON.stringify({ time, level, service, msg: message, ...ids, ...fields })}\n`);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node reports a refused connection to two addresses as an AggregateError without a message of its own.
  const inner = error instanceof AggregateError ? error.errors.map(reasonOf).join(", ") : "";
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error.message || inner || error.name}${cause}`;
}
