/**
 * Ends a process of this machine after the user confirmed it. Pids are reused, so it must still be the same process; SIGKILL
 * needs a confirmation of its own.
 */
import { readFileSync } from "node:fs";
import { systemCode } from "../../base/error.ts";
import { parseStat } from "../../machine/owners/proc.ts";
import type { SignalPrompt, ProcessTarget } from "../../top/view/view.ts";

export type SignalResult = "sent" | "gone" | "denied";

/** True if the process with this pid is still the same one. A zombie has ended already; its parent has not reaped it. */
export function isAlive({ pid, startTicks }: ProcessTarget, procfs: string): boolean {
  try {
    const text = readFileSync(`${procfs}/${pid}/stat`, "utf8");
    const state = text.slice(text.lastIndexOf(")") + 2, text.lastIndexOf(")") + 3);
    return parseStat(text)?.startTicks === startTicks && state !== "Z";
  } catch {
    return false;
  }
}

export function sendSignal({ signal, target }: SignalPrompt, procfs: string): SignalResult {
  // Never signals a process group, all processes, init or gpulse itself.
  if (target.pid <= 1 || target.pid === process.pid || !isAlive(target, procfs)) return "gone";
  try {
    process.kill(target.pid, signal);
    return "sent";
  } catch (thrown) {
    return systemCode(thrown) === "EPERM" ? "denied" : "gone";
  }
}

export function formatSignalResult({ signal, target }: SignalPrompt, sent: SignalResult): string {
  const name = `${target.name} (pid ${target.pid})`;
  if (sent === "sent") return `${signal} was sent to ${name}.`;
  if (sent === "gone") return `${name} has ended; no signal was sent.`;
  return `${name} belongs to another user; nothing was sent. Run gpulse top as that user or as root.`;
}
