/** Forwards the kernel's lines about GPUs. Loaded only if a target is configured. */
import type { CommandIo } from "../cli/command/io.ts";
import type { Settings } from "../cli/command/settings.ts";
import type { KernelLogTarget } from "../sinks/kernel-log/define.ts";
import { openForward } from "../sinks/kernel-log/forward.ts";
import type { Log } from "../base/log.ts";
import type { CollectMetrics } from "../model/self-frames.ts";

export interface KernelLog {
  start(): void;
  stop(): Promise<void>;
  readonly selfMetrics: CollectMetrics;
}

/** Shorter than the grace period that systemd and Kubernetes allow the whole agent. */
const graceMs = 5_000;

export async function openKernelLog(
  target: KernelLogTarget,
  { hostName }: Settings,
  { stdout, version }: CommandIo,
  log: Log,
): Promise<KernelLog> {
  const forward = await openForward(target, {
    stdout,
    version,
    hostName,
    log,
    random: Math.random,
    nowMs: Date.now,
  });
  return {
    start: () => forward.start(),
    stop: () => forward.stop(graceMs),
    selfMetrics: forward.selfMetrics,
  };
}
