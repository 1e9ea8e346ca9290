/**
 * Ends a process of this machine that somebody said yes to. A pid is used again, so the process must still be the one that
 * was asked about; SIGKILL is never sent from here without a question of its own.
 */
import { readFileSync } from "node:fs";
import { systemCode } from "../../base/error.ts";
import { parseStat } from "../../machine/owners/proc.ts";
import type { SignalPrompt, ProcessTarget } from "../../top/view/view.ts";

export type SignalResult = "sent" | "gone" | "denied";

/** Whether the process with this pid is still the one that was meant. A zombie has ended; only its parent has not looked. */
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
  // Never a group, never everybody, never init or ourselves.
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
  if (sent === "gone") return `${name} is no longer there; nothing was sent.`;
  return `${name} belongs to another user; nothing was sent. Run gpulse top as that user or as root.`;
}
