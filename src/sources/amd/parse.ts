/** Parsers of amdgpu's text files. Pure: text in, numbers or an absence out. */
import { isAllOnes } from "../../machine/sysfs/read.ts";
import { failed, present, type ReadResult, unsupported } from "../../machine/sysfs/read-result.ts";

/**
 * The highest clock of a pp_dpm_* table, in Hz. Lines are `1: 31Mhz *`, not sorted (a 7900 XTX: 500, 31*, 2219), and one may be
 * named `S:` for a clock in deep sleep. An empty or all-0 table reports nothing, nor does a level of all ones.
 */
export function parseHighestClock(text: string): ReadResult<number> {
  if (text === "") return unsupported;
  const levels = text
    .split("\n")
    .flatMap((line) => /^\w{1,3}:\s*(\d{1,6})\s*Mhz\s*\*?\s*$/i.exec(line)?.[1] ?? [])
    .map(Number);
  if (levels.length === 0) return failed;
  const highest = Math.max(0, ...levels.filter((level) => !isAllOnes(level)));
  return highest === 0 ? unsupported : present(highest * 1e6);
}

const errorTypes = { ue: "uncorrected", ce: "corrected", de: "deferred" } as const;
export type RasType = (typeof errorTypes)[keyof typeof errorTypes];

/** `ue: 0\nce: 2`, newer kernels also `de: 0`. */
export function parseErrorCounts(text: string): ReadResult<ReadonlyMap<RasType, number>> {
  const counts = new Map<RasType, number>();
  for (const [, short, count] of text.matchAll(/^(ue|ce|de):\s*(\d{1,15})\s*$/gm)) {
    counts.set(errorTypes[short as keyof typeof errorTypes], Number(count));
  }
  return counts.size === 0 ? failed : present(counts);
}

export interface BadPages {
  readonly retired: number;
  readonly pending: number;
}

/**
 * ras/gpu_vram_bad_pages: lines of `0x00000000 : 0x00001000 : R`; R is retired, P is pending until the next reset, F could not be
 * retired.
 */
export function parseBadPages(text: string): ReadResult<BadPages> {
  if (text === "") return present({ retired: 0, pending: 0 });
  const states = [
    ...text.matchAll(/^0x[0-9a-f]{1,16}\s*:\s*0x[0-9a-f]{1,16}\s*:\s*([RPF])\s*$/gim),
  ];
  if (states.length === 0) return failed;
  const count = (state: string): number => states.filter((match) => match[1] === state).length;
  return present({ retired: count("R"), pending: count("P") + count("F") });
}

export interface PcieTraffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** pcie_bw: messages received, messages sent, largest payload, counted during the second that the read takes. */
export function parsePcieBandwidth(text: string): ReadResult<PcieTraffic> {
  if (text === "") return unsupported;
  const match = /^(\d{1,15}) (\d{1,15}) (\d{1,6})$/.exec(text);
  if (match === null) return failed;
  const payload = Number(match[3]);
  return present({
    receivedBytes: Number(match[1]) * payload,
    sentBytes: Number(match[2]) * payload,
  });
}

/** Kernel property files: `key value` lines, in kfd's format. */
export function parseProperties(text: string): ReadonlyMap<string, number> {
  const facts = new Map<string, number>();
  for (const [, key = "", value] of text.matchAll(/^(\w{1,64}) (\d{1,20})$/gm)) {
    facts.set(key, Number(value));
  }
  return facts;
}

/** 16 hex digits, with or without 0x; empty or 0 in VMs. */
export function parseUniqueId(text: string): string | undefined {
  const match = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text);
  const id = match?.[1]?.toLowerCase().padStart(16, "0");
  return id === undefined || /^(?:0+|f+)$/.test(id) ? undefined : id;
}
