/** Turns anomalies into reasons of a verdict. Only for the hub: agents do not watch for anomalies. */
import { type Anomaly, type AnomalyKind, kindFacts } from "../../lake/analyses/anomaly/anomaly.ts";
import { deviceKey } from "../../model/device.ts";
import type { HealthAction, HealthReason, JudgedState } from "./verdict.ts";

const verdicts: Readonly<Record<AnomalyKind, readonly [JudgedState, HealthAction]>> = {
  temperature_spike: ["degraded", "inspect"],
  cooling_degraded: ["degraded", "inspect"],
  fan_slow: ["degraded", "inspect"],
  power_spike: ["degraded", "inspect"],
  clock_low: ["degraded", "reset_gpu"],
  straggler: ["degraded", "inspect"],
  // The program's fault, not the GPU's.
  memory_leak: ["healthy", "restart_app"],
  link_degraded: ["degraded", "reboot"],
};

/** By `deviceKey`. */
export function anomalyReasons(anomalies: readonly Anomaly[]): Map<string, HealthReason[]> {
  const reasons = new Map<string, HealthReason[]>();
  for (const { kind, severity, device, says, sinceMs } of anomalies) {
    if (severity !== "warning") continue;
    const [state, action] = verdicts[kind];
    const { title } = kindFacts[kind];
    const key = deviceKey(device.host, device.uuid);
    const text = `Anomaly, ${title}: ${says}`;
    const reason = `anomaly_${kind}`;
    reasons.set(key, [
      ...(reasons.get(key) ?? []),
      { check: "anomaly", reason, title, state, action, text, sinceMs },
    ]);
  }
  return reasons;
}
