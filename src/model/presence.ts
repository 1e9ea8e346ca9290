/** Why a reading is there or not. Absence is a value of its own, with a reason: never 0, never the last value, never NaN. */

export const presenceNames = [
  "present",
  "unsupported",
  "denied",
  "asleep",
  "failed",
  "ended",
  "pending",
] as const;
export type PresenceName = (typeof presenceNames)[number];

/**
 * Codes as they stand in a frame's presence column. `ended` marks the last point of a series: it is stale from here on.
 * `pending`: not read yet since the start, or a difference that needs a second sample. It stays on this machine: receivers of
 * before 0.3 do not know it, so that it is sent as `failed`.
 */
export const presence = {
  present: 0,
  unsupported: 1,
  denied: 2,
  asleep: 3,
  failed: 4,
  ended: 5,
  pending: 6,
} as const satisfies Record<PresenceName, number>;

export type AbsenceReason = Exclude<PresenceName, "present">;
