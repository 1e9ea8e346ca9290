/** An error that the user caused or can fix: a code and one sentence, shown without a stack trace. */
import type { ErrorCode } from "./codes.ts";

export class GpulseError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = "GpulseError";
    this.code = code;
  }
}

/** The message of any thrown value. */
export function formatError(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The system's code of an I/O error (`ENOENT`), also if the I/O error is the cause of a GpulseError. */
export function systemCode(thrown: unknown): string | undefined {
  if (thrown instanceof GpulseError) return systemCode(thrown.cause);
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string"
    ? thrown.code
    : undefined;
}
