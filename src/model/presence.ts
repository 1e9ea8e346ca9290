/** Why a reading is there or not. Absence is a value of its own, with a reason: never 0, never the last value, never NaN. */

export const presenceNames = [
  "present",
  "unsupported",
  "denied",
  "asleep",
  "failed",
  "ended",
] as const;
export type PresenceName = (typeof presenceNames)[number];

/** Codes as they stand in a frame's presence column. `ended` marks the last point of a series: it is stale from here on. */
export const presence = {
  present: 0,
  unsupported: 1,
  denied: 2,
  asleep: 3,
  failed: 4,
  ended: 5,
} as const satisfies Record<PresenceName, number>;

export type AbsenceReason = Exclude<PresenceName, "present">;
