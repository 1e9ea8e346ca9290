/**
 * Compares the current PCIe links. Many cards downgrade an idle link, so a weaker link alone is not a change: it counts if the
 * card was busy, or if only the width fell, since power saving also lowers the generation.
 */
import type { SnapshotFindings } from "./diff.ts";
import type { GpuReadings, Snapshot } from "../../machine/snapshot.ts";

/** Above this utilization a GPU uses its link at full strength. */
const busyRatio = 0.05;

export function compareLinks(before: Snapshot, after: Snapshot, findings: SnapshotFindings): void {
  for (const now of after.readings.gpus) {
    const was = before.readings.gpus.find(({ uuid }) => uuid === now.uuid);
    // A sleeping GPU has no meaningful link state.
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

/** Returns true if it differs and idling explains it. */
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
