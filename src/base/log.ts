/**
 * Log lines on stderr: text for people, JSON for programs. Warn means we recovered; error means data was lost or a person is
 * needed. Never prints a secret: callers pass names, not values.
 * Not pino, because the agent's memory budget is 80 MB and pino alone adds 8 (docs/decisions/0004).
 */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  /** True if debug lines are written. Callers build lines about each reading or batch only then. */
  readonly isDebug?: boolean;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly json: boolean;
  readonly colour: boolean;
  readonly nowMs: () => number;
  readonly write: (line: string) => void;
}

const colours: Record<Exclude<LogLevel, "silent">, string> = {
  debug: "\u001b[2m",
  info: "\u001b[36m",
  warn: "\u001b[33m",
  error: "\u001b[31m",
};

export function createLog(options: LogOptions): Log {
  const threshold = logLevels.indexOf(options.level);
  const at =
    (level: Exclude<LogLevel, "silent">) =>
    (message: string, fields: LogFields = {}): void => {
      if (logLevels.indexOf(level) < threshold) return;
      options.write(
        options.json ? jsonLine(level, message, fields) : textLine(level, message, fields),
      );
    };
  const jsonLine = (level: string, message: string, fields: LogFields): string =>
    `${JSON.stringify({ time: new Date(options.nowMs()).toISOString(), level, message, ...fields })}\n`;
  const textLine = (
    level: Exclude<LogLevel, "silent">,
    message: string,
    fields: LogFields,
  ): string => {
    const time = new Date(options.nowMs()).toISOString().slice(11, 19);
    const label = level.padEnd(5);
    const tail = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${key}=${quote(String(value))}`)
      .join("");
    const shown = options.colour ? `${colours[level]}${label}\u001b[0m` : label;
    return `${time} ${shown} ${oneLine(message)}${tail}\n`;
  };
  return {
    isDebug: options.level === "debug",
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
  };
}

/** Debug lines per second and component; more lines would be unreadable. */
const debugPerSecond = 10;

/** A log with limited debug lines; the next line after a gap reports how many were suppressed. Create one per component. */
export function limitDebug(log: Log, monotonicMs: () => number, perSecond = debugPerSecond): Log {
  if (log.isDebug !== true) return log;
  let windowMs = -Infinity;
  let lines = 0;
  let suppressed = 0;
  return {
    isDebug: true,
    debug: (message, fields) => {
      const nowMs = monotonicMs();
      if (nowMs - windowMs >= 1_000) {
        windowMs = nowMs;
        lines = 0;
      }
      lines += 1;
      if (lines > perSecond) {
        suppressed += 1;
        return;
      }
      log.debug(message, suppressed === 0 ? fields : { ...fields, suppressed });
      suppressed = 0;
    },
    info: (message, fields) => log.info(message, fields),
    warn: (message, fields) => log.warn(message, fields),
    error: (message, fields) => log.error(message, fields),
  };
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Parses a level as users write it: in any case, and also `WARNING`. */
export function parseLogLevel(text: string): LogLevel | undefined {
  const lower = text.trim().toLowerCase();
  const name = lower === "warning" ? "warn" : lower;
  return logLevels.find((level) => level === name);
}

const quote = (text: string): string => (/^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text));

/** External text may contain line breaks or terminal codes; a log line must stay one line. */
const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, " ");
