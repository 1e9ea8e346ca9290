/** Whether a reading is present, and if not, why. Absence has a code of its own: it is never 0, the last value or NaN. */

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
 * Codes of a frame's presence column. `ended` is the last point of a series: the series is stale from here on. `pending`: not read
 * since the start, or a difference that needs a second sample. Receivers before 0.3 do not know this code, so it is sent as
 * `failed`. `exporter reports 0`: another exporter writes 0 both for zero and for a reading that the GPU does not have. It is sent
 * as `unsupported`.
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

/** Maps the local codes to codes that every receiver understands. */
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

/** The absence reasons that are sent to other programs. */
export const sentReasons: readonly AbsenceReason[] = absenceReasons.filter(
  (name) => sentPresence(presence[name]) === presence[name],
);
