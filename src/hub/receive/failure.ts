/** Why a request was refused: its outcome for the counters, the HTTP status, and whether to retry. */
import type { IngestOutcome } from "./receiver-counts.ts";

export type RequestOutcome = Extract<IngestOutcome, `${string}_request`>;

const retryAfterSeconds = 5;

export class ReceiveError extends Error {
  readonly status: number;
  readonly outcome: RequestOutcome;
  /** Set if a retry may succeed. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: number,
    outcome: RequestOutcome,
    sentence: string,
    retry: "retry" | "never" = "never",
  ) {
    super(sentence);
    this.status = status;
    this.outcome = outcome;
    this.retryAfterSeconds = retry === "retry" ? retryAfterSeconds : undefined;
  }
}

export const malformed = (sentence: string): ReceiveError =>
  new ReceiveError(400, "malformed_request", sentence);

export const unsupported = (sentence: string): ReceiveError =>
  new ReceiveError(415, "unsupported_request", sentence);

export const tooLarge = (maxBytes: number): ReceiveError =>
  new ReceiveError(
    413,
    "too_large_request",
    `the request is larger than ${maxBytes / 2 ** 20} MiB: send less at a time`,
  );

/** Prometheus drops a batch on 429 by default, so only a client that exceeds its own share gets it. */
export const clientShareExceeded = (): ReceiveError =>
  new ReceiveError(
    429,
    "busy_request",
    "this client has too many requests in progress: send fewer at once",
    "retry",
  );

export const tooBusy = (): ReceiveError =>
  new ReceiveError(
    503,
    "busy_request",
    "the hub has too many requests in progress: retry later",
    "retry",
  );

/** Never sent: it only ends the work on a request whose client disconnected. */
export const clientDisconnected = (): ReceiveError =>
  new ReceiveError(400, "malformed_request", "the client hung up before its request was stored");
