/** A kernel log line about a GPU, and the interface of a target for such lines. */
import type { SendResult } from "../../base/send/batch-sender.ts";
import type { GpuLine } from "../../machine/kernel-log/classify.ts";

export interface KernelLine extends GpuLine {
  readonly host: string;
  readonly timeNs: bigint;
}

export interface LineTarget {
  /** The target's name in logs and metrics, without user, password and query. */
  readonly shown: string;
  /** Sends all lines in one request. */
  send(lines: readonly KernelLine[], signal: AbortSignal): Promise<SendResult>;
  close(): void;
}

/** Details beyond the stream's labels, named as in `gpu_info` and `gpu_xid_errors_total`. */
export function detailsOf(line: KernelLine): Record<string, string> {
  return {
    driver: line.driver,
    ...(line.pciBusId === undefined ? {} : { pci_bus_id: line.pciBusId }),
    ...(line.xid === undefined ? {} : { xid: String(line.xid) }),
    ...(line.sxid === undefined ? {} : { sxid: String(line.sxid) }),
    ...(line.event === undefined ? {} : { event: line.event }),
  };
}

/** A line as an event of the hub's timeline. Its key is the same each time it is sent. */
export interface KernelLineEvent {
  readonly kind: "kernel";
  readonly severity: "info" | "warning" | "critical";
  readonly title: string;
  readonly text?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly key: string;
}

const maxTitle = 300;
const maxText = 4_000;

export function kernelLineEvent(line: KernelLine): KernelLineEvent {
  const { text, host, vendor, level, timeNs } = line;
  const severity =
    level === "critical" ? "critical" : level === "info" || level === "debug" ? "info" : "warning";
  return {
    kind: "kernel",
    severity,
    title: text.slice(0, maxTitle).trim() || "empty line",
    ...(text.length > maxTitle ? { text: text.slice(0, maxText) } : {}),
    labels: { host, vendor, ...detailsOf(line) },
    key: `kernel:${host}:${timeNs}`,
  };
}
