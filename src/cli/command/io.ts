/** The process environment of a command, passed in so that tests can replace it. */
import type { Env } from "../../config/secrets.ts";
import { createLog, type Log, type LogLevel } from "../../base/log.ts";

export interface CommandIo {
  readonly env: Env;
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly version: string;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<string>;
  /** Registers a callback for SIGHUP, which reloads files in a process without a terminal; on a terminal SIGHUP stops it. */
  onReload?(reload: () => void): void;
}

/** Colours are used only on a terminal, unless NO_COLOR is set. */
export function usesColour(stream: { readonly isTTY?: boolean }, env: Env): boolean {
  return stream.isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}

export function commandLog(io: CommandIo, level: LogLevel, json: boolean): Log {
  return createLog({
    level,
    json,
    colour: usesColour(io.stderr, io.env),
    nowMs: () => Date.now(),
    write: (line) => void io.stderr.write(line),
  });
}
