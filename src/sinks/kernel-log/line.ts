/** A line of the kernel about a GPU on its way out, and where such lines go. */
import type { PostResult } from "../request-batch.ts";
import type { GpuLine } from "../../machine/kernel-log/classify.ts";

export interface KernelLine extends GpuLine {
  readonly host: string;
  readonly timeNs: bigint;
}

export interface LineTarget {
  /** As logs and metrics name it: without user, password and query. */
  readonly shown: string;
  /** All of the lines in one go; the same ones come again unless they were taken. */
  send(lines: readonly KernelLine[], signal: AbortSignal): Promise<PostResult>;
  close(): void;
}

/** What tells lines apart beyond the labels of their stream, by the names `gpu_info` and `gpu_xid_errors_total` use. */
export function detailsOf(line: KernelLine): Record<string, string> {
  return {
    driver: line.driver,
    ...(line.pciBusId === undefined ? {} : { pci_bus_id: line.pciBusId }),
    ...(line.xid === undefined ? {} : { xid: String(line.xid) }),
    ...(line.sxid === undefined ? {} : { sxid: String(line.sxid) }),
    ...(line.event === undefined ? {} : { event: line.event }),
  };
}
