/** Interprets an engine's response to a write: accepted, refused for good, or to be retried. */
import type { HttpResponse } from "../../net/http/request.ts";
import { StoreError } from "../embedded/error.ts";
import type { AppendResult } from "../embedded/options.ts";
import { wordsOf } from "./connection.ts";

/** Statuses that no repetition changes: bad labels, out of order, a conflict, over a limit, too large. */
const final = new Set([400, 409, 413, 422]);

export const isWriteAccepted = ({ status }: HttpResponse): boolean => status >= 200 && status < 300;
export const isFinal = ({ status }: HttpResponse): boolean => final.has(status);
export const isTooLarge = ({ status }: HttpResponse): boolean => status === 413;

/** Wrong credentials and wrong paths can be fixed on the engine's side: samples are not dropped for them. */
export function unavailableError(answer: HttpResponse): StoreError {
  return new StoreError(
    "unavailable",
    `the store takes no samples now (HTTP ${answer.status}): ${wordsOf(answer)}`,
  );
}

export const acceptedResult = (samples: number): AppendResult => ({
  stored: samples,
  late: 0,
  duplicates: 0,
  refusedConflicts: 0,
  refusedTooOld: 0,
  refusedByLimit: 0,
  refusals: [],
});

/** Counted under the reason found in the engine's error text, which is passed on with it. */
export function refusedResult(samples: number, answer: HttpResponse): AppendResult {
  const reason = wordsOf(answer);
  const counted = /duplicate|different value|conflict/i.test(reason)
    ? { refusedConflicts: samples }
    : /limit|too many|exceed/i.test(reason)
      ? { refusedByLimit: samples }
      : { refusedTooOld: samples };
  return { ...acceptedResult(0), ...counted, reason };
}

export function addResults(a: AppendResult, b: AppendResult): AppendResult {
  const reason = a.reason ?? b.reason;
  return {
    stored: a.stored + b.stored,
    late: 0,
    duplicates: 0,
    refusedConflicts: a.refusedConflicts + b.refusedConflicts,
    refusedTooOld: a.refusedTooOld + b.refusedTooOld,
    refusedByLimit: a.refusedByLimit + b.refusedByLimit,
    refusals: [],
    ...(reason === undefined ? {} : { reason }),
  };
}
