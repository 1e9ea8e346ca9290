/** Judges a machine itself: its own memory (EDAC) and its NVSwitches. Its GPUs are judged separately. Pure. */
import type { HostRecord } from "./host-record.ts";
import { combineReasons, type HealthReason, type UncheckedCheck, type Verdict } from "./verdict.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Corrected errors per hour above which a memory module is failing. */
const correctedAnHour = 10;

export function judgeHost(record: HostRecord | undefined, nowMs: number): Verdict {
  const corrected = record?.readings.get("memoryCorrected");
  const uncorrected = record?.readings.get("memoryUncorrected");
  if (record === undefined || (corrected === undefined && uncorrected === undefined)) {
    const unchecked: UncheckedCheck[] = [
      { check: "host_memory", why: "memory errors of the machine (EDAC) are not reported" },
    ];
    return combineReasons(noted(record, nowMs), unchecked, false);
  }
  const reasons = noted(record, nowMs);
  const grown = record.uncorrected.within(dayMs, nowMs);
  const memory = { check: "host_memory", sinceMs: record.firstMs } as const;
  if ((uncorrected ?? 0) > 0)
    reasons.push({
      ...memory,
      reason: "host_memory_uncorrected",
      title: "uncorrectable errors in the machine's memory",
      state: grown > 0 ? "failing" : "degraded",
      action: "drain",
      text: `${uncorrected} uncorrectable errors in the machine's memory since boot${grown > 0 ? `, ${grown} within a day` : ""}. Replace the module.`,
    });
  const recent = record.corrected.within(hourMs, nowMs);
  if (recent > correctedAnHour)
    reasons.push({
      ...memory,
      reason: "host_memory_corrected",
      title: "many corrected errors in the machine's memory",
      state: "degraded",
      action: "inspect",
      text: `${recent} errors in the machine's memory were corrected within an hour; the limit is ${correctedAnHour}.`,
    });
  return combineReasons(reasons, [], true);
}

function noted(record: HostRecord | undefined, nowMs: number): HealthReason[] {
  return [...(record?.noted.values() ?? [])].filter(({ sinceMs }) => nowMs - sinceMs < dayMs);
}
