/** What comes of reading one file: a value, or why there is none. System errors end here and never travel further. */
import { systemCode } from "../../base/error.ts";
import type { AbsenceReason } from "../../model/presence.ts";

export interface Absent {
  readonly ok: false;
  readonly reason: AbsenceReason;
}
export type Reading<T> = { readonly ok: true; readonly value: T } | Absent;

export const unsupported: Absent = { ok: false, reason: "unsupported" };
export const denied: Absent = { ok: false, reason: "denied" };
export const asleep: Absent = { ok: false, reason: "asleep" };
export const failed: Absent = { ok: false, reason: "failed" };

export function present<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** The value as another one; an absence stays as it is. */
export function mapReading<T, U>(reading: Reading<T>, map: (value: T) => U): Reading<U> {
  return reading.ok ? present(map(reading.value)) : reading;
}

/** A driver says EOPNOTSUPP or EINVAL for a sensor this chip lacks, and EBUSY, EIO or ENODEV when asked at a bad moment. */
const reasons: Readonly<Record<string, Absent>> = {
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

export function absenceOf(thrown: unknown): Absent {
  return reasons[systemCode(thrown) ?? ""] ?? failed;
}
