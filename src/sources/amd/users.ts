/** Processes on each AMD card: from open graphics files, and from kfd for compute programs. */
import type { GpuProcess } from "../../machine/owners/gpu-owners.ts";
import type { DrmScanResult } from "../../machine/owners/fdinfo-scan.ts";
import { busiest, type DrmProcessShare, EngineShares } from "../../machine/owners/fdinfo-share.ts";
import type { KfdNode, KfdProcess } from "./kfd.ts";

export interface CardUsersScan {
  readonly scan: DrmScanResult;
  readonly compute: readonly KfdProcess[];
  readonly nodes: readonly KfdNode[];
}

/** Holds one card's counters between reads. */
export class CardUsers {
  readonly #pciBusId: string;
  readonly #isOwnMemory: (region: string) => boolean;
  readonly #shares = new EngineShares();

  /** Programs on an APU use mapped system memory as much as its carve-out. */
  constructor(pciBusId: string, isApu: boolean) {
    this.#pciBusId = pciBusId;
    this.#isOwnMemory = (region) => region === "vram" || (isApu && region === "gtt");
  }

  read(timeMs: number, visit: CardUsersScan): readonly GpuProcess[] {
    const { processes } = visit.scan;
    const shares = this.#shares.read(timeMs, this.#pciBusId, processes, this.#isOwnMemory);
    const gpuId = visit.nodes.find(({ pciBusId }) => pciBusId === this.#pciBusId)?.gpuId;
    const compute = new Map<number, number>();
    for (const { pid, vramBytes } of visit.compute) {
      const bytes = gpuId === undefined ? undefined : vramBytes.get(gpuId);
      if (bytes !== undefined) compute.set(pid, bytes);
    }
    return merge(shares, compute);
  }
}

/** A compute program is in both lists; its open file has more readings. */
function merge(
  shares: readonly DrmProcessShare[],
  compute: ReadonlyMap<number, number>,
): readonly GpuProcess[] {
  const seen = new Set(shares.map(({ pid }) => pid));
  const files = shares.map(({ pid, memoryBytes, engines }): GpuProcess => {
    const share = busiest(engines);
    const kfdBytes = compute.get(pid) ?? 0;
    return {
      pid,
      kind: compute.has(pid) ? ((engines?.get("gfx") ?? 0) > 0 ? "both" : "compute") : "graphics",
      memoryBytes: Math.max(memoryBytes, kfdBytes),
      utilizationRatio: share,
    };
  });
  const rest = [...compute].filter(([pid]) => !seen.has(pid));
  return [
    ...files,
    ...rest.map(([pid, memoryBytes]): GpuProcess => ({ pid, kind: "compute", memoryBytes })),
  ];
}
