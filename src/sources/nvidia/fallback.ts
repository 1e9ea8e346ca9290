/**
 * Uses NVML if it loads, nvidia-smi until then. Both are retried with every slow read, so that a tool or driver that fails at
 * startup, or is installed later, is picked up without a restart.
 */
import type { Log } from "../../base/log.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import type { PolledSource, SourceProcess } from "../source.ts";
import { withSmiError } from "./explain.ts";
import type { NvmlFailure } from "./protocol.ts";
import type { SmiSource } from "./smi/source.ts";
import type { NvidiaSource } from "./source.ts";

/** True if NVML itself cannot be loaded. An NVML that loads but finds no driver, or sleeping GPUs, retries by itself. */
export const cannotLoad = (problem: NvmlFailure | undefined): boolean =>
  problem !== undefined && problem.stage !== "init" && problem.stage !== "asleep";

export interface FallbackOptions {
  readonly nvml: NvidiaSource;
  readonly smi: SmiSource;
  readonly explain: (problem: NvmlFailure) => Promise<string>;
  readonly log: Log;
}

export class FallbackSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[];
  readonly #options: FallbackOptions;
  #usesNvml = false;
  #usesSmi = false;
  /** Error of the last slow read through nvidia-smi. */
  #error: Error | undefined;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.tiers = options.nvml.tiers;
  }

  get deadlineMs(): number | undefined {
    return this.#usesNvml ? undefined : this.#options.smi.deadlineMs;
  }

  devices(): readonly Device[] {
    return (this.#usesNvml ? this.#options.nvml : this.#options.smi).devices();
  }

  process(): SourceProcess {
    return this.#options.nvml.process();
  }

  onChange(listener: (tier: Tier) => void): void {
    this.#options.nvml.onChange(listener);
  }

  async read(tier: Tier, timeMs: number): Promise<Frame> {
    const { nvml } = this.#options;
    if (this.#usesNvml) return nvml.read(tier, timeMs);
    // nvidia-smi has one schedule. The other tiers return empty frames, and fail while it fails so that its GPUs count as down.
    if (tier !== "slow") {
      if (this.#error !== undefined) throw this.#error;
      return new FrameWriter({ series: [] }, timeMs).finish();
    }
    const problem = await nvml.start();
    if (!cannotLoad(problem)) {
      this.#usesNvml = true;
      this.#options.log.info("NVML loads now: nvidia-smi is no longer used");
      return nvml.read(tier, timeMs);
    }
    return this.#readSmi(timeMs, problem);
  }

  async close(): Promise<void> {
    this.#options.smi.close();
    await this.#options.nvml.close();
  }

  async #readSmi(timeMs: number, problem: NvmlFailure | undefined): Promise<Frame> {
    const { smi, explain, log } = this.#options;
    try {
      const frame = await smi.read("slow", timeMs);
      this.#error = undefined;
      if (!this.#usesSmi)
        log.warn("NVML cannot be loaded: running nvidia-smi instead, every few seconds", {
          reason: problem?.detail ?? "",
        });
      this.#usesSmi = true;
      return frame;
    } catch (thrown) {
      const why = problem === undefined ? "" : await explain(problem);
      this.#error = new Error(withSmiError(why, thrown));
      throw this.#error;
    }
  }
}
