/** Encodes verdicts as series, so that rules, dashboards and the hub can use them, and decodes them. */
import { gpu, host as hostMetrics } from "../../model/catalogue/index.ts";
import { deviceLabels } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { labelSet, labelValue } from "../../model/labels.ts";
import type { ListedReading } from "../../model/reading-frames.ts";
import { presence } from "../../model/presence.ts";
import type { ReportedVerdict } from "./gpu-record.ts";
import type { VerdictSlot } from "./plan.ts";
import {
  gpuChecks,
  type HealthAction,
  healthActions,
  type HealthReason,
  healthStates,
  type JudgedState,
  stateRank,
  type UncheckedCheck,
} from "./verdict.ts";
import type { HostHealth } from "./watch.ts";

export function healthReadings(hosts: readonly HostHealth[]): ListedReading[] {
  return hosts.flatMap(({ host, state, reasons, gpus }): ListedReading[] => [
    {
      metric: hostMetrics.healthState,
      labels: labelSet({ host }),
      value: state === "unknown" ? "unsupported" : stateRank(state),
    },
    ...reasons.map((reason) => ({
      metric: hostMetrics.healthReason,
      labels: labelSet({ ...reasonLabels(reason), host }),
      value: 1,
    })),
    ...gpus.flatMap((one): ListedReading[] => [
      {
        metric: gpu.healthState,
        labels: deviceLabels(one.device, host),
        value: one.state === "unknown" ? "unsupported" : stateRank(one.state),
      },
      ...one.reasons.map((reason) => ({
        metric: gpu.healthReason,
        labels: deviceLabels(one.device, host, reasonLabels(reason)),
        value: 1,
      })),
      ...one.unchecked.map(({ check }) => ({
        metric: gpu.healthUnchecked,
        labels: deviceLabels(one.device, host, { check }),
        value: 1,
      })),
    ]),
  ]);
}

const reasonLabels = ({ check, reason, title, state, action }: HealthReason) => ({
  check,
  reason,
  title,
  state,
  action,
});

/**
 * Decodes the verdict on a GPU from an agent's frame. A reason that was reported before keeps its start time. Unknown values of a
 * newer agent are omitted.
 */
export function reportedVerdict(
  frame: Frame,
  slots: readonly VerdictSlot[],
  before: ReportedVerdict | undefined,
): ReportedVerdict {
  const reasons: HealthReason[] = [];
  const unchecked: UncheckedCheck[] = [];
  for (const { slot, series } of slots) {
    if (frame.presence[slot] !== presence.present) continue;
    const label = (name: string): string => labelValue(series.labels, name) ?? "";
    const check = gpuChecks.find((name) => name === label("check"));
    if (check === undefined) continue;
    if (series.metric === gpu.healthUnchecked) {
      unchecked.push({ check, why: "not possible on its machine" });
      continue;
    }
    const state = healthStates.find((name): name is JudgedState => name === label("state"));
    const action = healthActions.find((name): name is HealthAction => name === label("action"));
    const reason = label("reason");
    if (state === undefined || action === undefined || reason === "") continue;
    const title = label("title") || reason;
    const known = before?.reasons.find((one) => one.reason === reason && one.state === state);
    reasons.push(
      known ?? {
        check,
        reason,
        title,
        state,
        action,
        text: `${title}, as its agent reports.`,
        sinceMs: frame.timeMs,
      },
    );
  }
  return { reasons, unchecked };
}
