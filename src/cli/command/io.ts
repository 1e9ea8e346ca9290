/** What a command has of the outside world, handed in so that tests can own it. */
import type { Env } from "../../config/secrets.ts";
import { createLog, type Log, type LogLevel } from "../../base/log.ts";

export interface CommandIo {
  readonly env: Env;
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly version: string;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<string>;
  /** Called when a program without a terminal gets SIGHUP and shall reload its files; on a terminal SIGHUP means stop. */
  onReload?(reload: () => void): void;
}

/** Colours only on a terminal, and not where NO_COLOR asks for none. */
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
