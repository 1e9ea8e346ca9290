/** Explains in a sentence why a number is absent, for tooltips. */
import type { WireAbsence } from "../../../src/view/live/protocol.ts";

const sentences: Readonly<Record<WireAbsence, string>> = {
  unsupported: "This GPU or its driver does not report it.",
  denied: "gpulse may not read it: run gpulse doctor to see which permission is missing.",
  asleep: "The GPU is asleep; gpulse does not wake it to read this.",
  failed: "Reading it failed, or the GPU returned an impossible value.",
  "exporter reports 0": "The exporter reports 0, which it also writes for a reading the GPU lacks.",
  stale: "No fresh reading: the source has not delivered it yet, or not for a while.",
};

export function describeAbsence(reason: WireAbsence): string {
  return sentences[reason];
}
