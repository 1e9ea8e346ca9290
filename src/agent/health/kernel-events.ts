/**
 * Turns lines of the kernel log into events of the GPUs and NVSwitches they are about. Pure, except that events are added to the watch.
 */
import type { GpuLine } from "../../machine/kernel-log/classify.ts";
import type { HealthWatch } from "../../view/health/watch.ts";

/** @returns false if the GPU of the line is not known yet */
export function applyKernelLine(
  watch: HealthWatch,
  host: string,
  line: GpuLine,
  timeMs: number,
): boolean {
  if (line.sxid !== undefined) {
    noteSwitch(watch, host, line.sxid, line.text, timeMs);
    return true;
  }
  if (line.xid === undefined && !isReset(line) && line.event !== "fell-off-bus") return true;
  if (line.pciBusId === undefined) return true;
  const uuid = watch.findByBus(host, line.pciBusId);
  const record = uuid === undefined ? undefined : watch.record(host, uuid);
  if (record === undefined) return false;
  if (line.xid === 154) {
    record.loggedRecovery = recoveryIn(line.text);
    if (record.loggedRecovery === 0) record.xids.forgetBefore(timeMs);
  } else if (line.xid !== undefined) {
    const application = applicationIn(line.text);
    record.xids.add({
      timeMs,
      xid: line.xid,
      ...(application === undefined ? {} : { application }),
    });
  } else if (line.event === "fell-off-bus") record.xids.add({ timeMs, xid: 79 });
  else if (record.driverResets.within(60_000, timeMs) === 0) record.driverResets.add(1, timeMs);
  return true;
}

const isReset = ({ event }: GpuLine): boolean =>
  event === "hang" || event === "reset" || event === "timeout";

/** `GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)` */
export function recoveryIn(text: string): number | undefined {
  const label = / to 0x[0-9a-f]{1,8} \(([^)]{1,60})\)/i.exec(text)?.[1];
  return label === undefined ? undefined : recoveryLabels[label.toLowerCase()];
}

const recoveryLabels: Readonly<Record<string, number>> = {
  none: 0,
  "gpu reset required": 1,
  "pf flr": 1,
  "node reboot required": 2,
  "drain p2p": 3,
  "drain and reset": 4,
};

/** `pid=4242, name=python3`: returns the name only, since a restarted program is the same application. */
export function applicationIn(text: string): string | undefined {
  const name = /\bname=([^,<]{1,64})/.exec(text)?.[1]?.trim();
  return name === undefined || name === "" ? undefined : name;
}

function noteSwitch(
  watch: HealthWatch,
  host: string,
  sxid: number,
  text: string,
  sinceMs: number,
): void {
  const isFatal = /\bFatal\b/.test(text) && !/Non-fatal/i.test(text);
  watch.hostRecord(host).noted.set(`sxid_${sxid}`, {
    check: "switch",
    reason: `sxid_${sxid}`,
    title: `NVSwitch error ${sxid}`,
    state: isFatal ? "failing" : "healthy",
    action: isFatal ? "reboot" : "none",
    text: `The NVSwitch reported SXid ${sxid}, ${isFatal ? "fatal: jobs over NVLink fail until the machine is rebooted" : "non-fatal"}.`,
    sinceMs,
  });
}
