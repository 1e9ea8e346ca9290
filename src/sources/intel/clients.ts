/**
 * Readings of an Intel GPU that only exist in the open files of processes: engine utilization and memory. Complete only for a
 * user who may read every process; otherwise these readings are `denied`, since a partial sum would look complete.
 */
import { gpu } from "../../model/catalogue/index.ts";
import type { DrmScan, DrmScanResult } from "../../machine/owners/fdinfo-scan.ts";
import {
  busiest,
  type DrmProcessShare,
  EngineShares,
  sumEngines,
} from "../../machine/owners/fdinfo-share.ts";
import type { GpuProcess } from "../../machine/owners/gpu-owners.ts";
import { denied, failed, present, type ReadResult } from "../../machine/sysfs/read-result.ts";
import { type CardChannel, oncePerTick } from "../cards.ts";

/** xe identifies engines by class, i915 by name. */
const engineNames: Readonly<Record<string, string>> = {
  rcs: "render",
  bcs: "copy",
  vcs: "video",
  vecs: "video-enhance",
  ccs: "compute",
};
const engineOf = (name: string): string => engineNames[name] ?? name;

/** Device memory is local0 (i915) or vram0 (xe); other regions are system memory. */
const isDeviceMemory = (region: string): boolean => /^(?:local|vram)\d*$/.test(region);
const isSystemMemory = (region: string): boolean =>
  /^(?:system\d*|stolen(?:-system)?\d*|gtt)$/.test(region);

export class IntelClients {
  readonly #pciBusId: string;
  readonly isDiscrete: boolean;
  readonly #slow = new EngineShares();
  readonly #fast = new EngineShares();
  readonly #read: (timeMs: number) => Promise<ReadResult<readonly DrmProcessShare[]>>;
  #slowEngines: ReadonlyMap<string, number> | undefined;

  constructor(pciBusId: string, isDiscrete: boolean, scan: DrmScan) {
    this.#pciBusId = pciBusId;
    this.isDiscrete = isDiscrete;
    this.#read = oncePerTick(async (timeMs) => {
      const visit = await scan.revisit();
      if (visit === undefined) return failed;
      if (visit.denied > 0) return denied;
      return present(this.#fast.read(timeMs, pciBusId, visit.processes, this.#isOwnMemory));
    });
  }

  readonly #isOwnMemory = (region: string): boolean =>
    this.isDiscrete ? isDeviceMemory(region) : isSystemMemory(region);

  /** Fast readings, from the files that the last scan found. */
  channels(): readonly CardChannel[] {
    return [
      {
        metric: gpu.utilization,
        read: async (timeMs) => {
          const shares = await this.#read(timeMs);
          if (!shares.ok) return shares;
          const busy = busiest(sumEngines(shares.value));
          return busy === undefined ? failed : present(busy);
        },
      },
      {
        metric: this.isDiscrete ? gpu.memoryUsed : gpu.sharedMemoryUsed,
        read: async (timeMs) => {
          const shares = await this.#read(timeMs);
          return shares.ok
            ? present(shares.value.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0))
            : shares;
        },
      },
    ];
  }

  processes(timeMs: number, scan: DrmScanResult): readonly GpuProcess[] {
    const shares = this.#slow.read(timeMs, this.#pciBusId, scan.processes, this.#isOwnMemory);
    this.#slowEngines = sumEngines(shares);
    return shares.map(({ pid, memoryBytes, engines }) => {
      const share = busiest(engines);
      const isCompute = (engines?.get("ccs") ?? engines?.get("compute") ?? 0) > 0;
      return {
        pid,
        kind: isCompute ? "compute" : "graphics",
        memoryBytes,
        utilizationRatio: share,
      };
    });
  }

  /** Slow readings, with the engine shares of the last call of `processes`. */
  engineChannels(isWhole: boolean): readonly CardChannel[] {
    return [...(this.#slowEngines ?? [])].map(([name, share]) => {
      const reading: ReadResult<number> = isWhole ? present(Math.min(1, share)) : denied;
      return {
        metric: gpu.engineUtilization,
        labels: { engine: engineOf(name) },
        read: () => reading,
      };
    });
  }
}
