/**
 * The PCIe link a GPU has now. Many cards train it down when idle, so a weaker link alone is no change: it counts when the
 * card was busy, or when only the width fell, since a card that saves power lowers the generation as well.
 */
import type { SnapshotFindings } from "./diff.ts";
import type { GpuReadings, Snapshot } from "../../machine/snapshot.ts";

/** From here on a GPU has its link at full strength. */
const busyRatio = 0.05;

export function compareLinks(before: Snapshot, after: Snapshot, findings: SnapshotFindings): void {
  for (const now of after.readings.gpus) {
    const was = before.readings.gpus.find(({ uuid }) => uuid === now.uuid);
    // A sleeping GPU has no link to speak of.
    if (was === undefined || was.asleep === true || now.asleep === true) continue;
    const savers = [
      compareOne("pcieWidth", was, now, findings),
      compareOne("pcieGeneration", was, now, findings),
    ];
    if (savers.includes(true))
      findings.notes.push(
        `GPU ${now.index}: its PCIe link was ${formatLink(was)} and is ${formatLink(now)}; it was idle at the weaker one, so this is the card saving power, not a change.`,
      );
  }
}

/** True where it differs and is put down to idling. */
function compareOne(
  which: "pcieWidth" | "pcieGeneration",
  was: GpuReadings,
  now: GpuReadings,
  { changes }: SnapshotFindings,
): boolean {
  const [old, value] = [was[which], now[which]];
  if (old === undefined || value === undefined || old === value) return false;
  const [weaker, stronger] = value < old ? [now, was] : [was, now];
  const isIdle = (weaker.utilizationRatio ?? 0) < busyRatio;
  const isLower = (weaker.pcieGeneration ?? 0) < (stronger.pcieGeneration ?? 0);
  if (isIdle && isLower) return true;
  const name = which === "pcieWidth" ? "width" : "generation";
  const mark = which === "pcieWidth" ? "x" : "";
  changes.push({
    path: `gpus.${now.uuid}.pcie.${name}`,
    kind: "fact",
    before: old,
    after: value,
    sentence: `GPU ${now.index}: PCIe ${name} in use: ${mark}${old} → ${mark}${value}${isIdle ? "" : ", under load"}.`,
  });
  return false;
}

const formatLink = ({ pcieGeneration, pcieWidth }: GpuReadings): string =>
  `generation ${pcieGeneration ?? "unknown"} x${pcieWidth ?? "unknown"}`;
