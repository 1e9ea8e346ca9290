/** The result of reading one file: a value, or the reason why there is none. System errors are converted here. */
import { systemCode } from "../../base/error.ts";
import type { AbsenceReason } from "../../model/presence.ts";

export interface AbsentResult {
  readonly ok: false;
  readonly reason: AbsenceReason;
}
export type ReadResult<T> = { readonly ok: true; readonly value: T } | AbsentResult;

export const unsupported: AbsentResult = { ok: false, reason: "unsupported" };
export const denied: AbsentResult = { ok: false, reason: "denied" };
export const asleep: AbsentResult = { ok: false, reason: "asleep" };
export const failed: AbsentResult = { ok: false, reason: "failed" };

export function present<T>(value: T): ReadResult<T> {
  return { ok: true, value };
}

/** Maps the value; an absence stays unchanged. */
export function mapReadResult<T, U>(reading: ReadResult<T>, map: (value: T) => U): ReadResult<U> {
  return reading.ok ? present(map(reading.value)) : reading;
}

/** A driver returns EOPNOTSUPP or EINVAL for a sensor this chip lacks, and EBUSY, EIO or ENODEV if it cannot read it at the moment. */
const reasons: Readonly<Record<string, AbsentResult>> = {
  ENOENT: unsupported,
  ENOTDIR: unsupported,
  EISDIR: unsupported,
  EINVAL: unsupported,
  EOPNOTSUPP: unsupported,
  ENOTSUP: unsupported,
  ENOSYS: unsupported,
  EACCES: denied,
  EPERM: denied,
};

export function absenceOf(thrown: unknown): AbsentResult {
  return reasons[systemCode(thrown) ?? ""] ?? failed;
}
