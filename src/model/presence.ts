/** Why a reading is there or not. Absence is a value of its own, with a reason: never 0, never the last value, never NaN. */

export const presenceNames = [
  "present",
  "unsupported",
  "denied",
  "asleep",
  "failed",
  "ended",
  "pending",
  "exporter reports 0",
] as const;
export type PresenceName = (typeof presenceNames)[number];

/**
 * Codes as they stand in a frame's presence column. `ended` marks the last point of a series: it is stale from here on.
 * `pending`: not read yet since the start, or a difference that needs a second sample. It stays on this machine: receivers of
 * before 0.3 do not know it, so that it is sent as `failed`. `exporter reports 0`: another exporter writes 0 both for zero and
 * for a reading that the GPU does not have. It stays on this machine too, and is sent as `unsupported`.
 */
export const presence = {
  present: 0,
  unsupported: 1,
  denied: 2,
  asleep: 3,
  failed: 4,
  ended: 5,
  pending: 6,
  "exporter reports 0": 7,
} as const satisfies Record<PresenceName, number>;

/** What other programs get instead of the states that they may not know. */
export const sentPresence = (state: number): number =>
  state === presence.pending
    ? presence.failed
    : state === presence["exporter reports 0"]
      ? presence.unsupported
      : state;

export type AbsenceReason = Exclude<PresenceName, "present">;

export const absenceReasons: readonly AbsenceReason[] = presenceNames.filter(
  (name) => name !== "present",
);

/** Those that other programs get. */
export const sentReasons: readonly AbsenceReason[] = absenceReasons.filter(
  (name) => sentPresence(presence[name]) === presence[name],
);
