/**
 * Monitoring must not keep awake or wake a GPU that the kernel may put to sleep (laptops: `power/control` is auto). The sleep
 * state is read from sysfs, which does not wake the GPU; SleepController decides when to close the driver. Never calls NVML.
 */
import { readFileSync, readdirSync } from "node:fs";

/** State of one GPU, or of all together: asleep only if all are, always on if one is. */
export type GpuSleepState = "always-on" | "awake" | "asleep";

export class SleepFiles {
  readonly #devices: string;

  constructor(sysfs: string) {
    this.#devices = `${sysfs}/bus/pci/devices`;
  }

  /** PCI addresses of NVIDIA's display controllers (class 03). */
  gpus(): string[] {
    try {
      return readdirSync(this.#devices).filter(
        (address) =>
          this.#read(address, "vendor") === "0x10de" &&
          this.#read(address, "class")?.startsWith("0x03") === true,
      );
    } catch {
      return [];
    }
  }

  together(addresses: readonly (string | undefined)[]): GpuSleepState {
    const states = addresses.map((address) => this.#state(address));
    if (states.length === 0 || states.includes("always-on")) return "always-on";
    return states.every((state) => state === "asleep") ? "asleep" : "awake";
  }

  #state(address: string | undefined): GpuSleepState {
    if (address === undefined || this.#read(address, "power/control") !== "auto")
      return "always-on";
    const status = this.#read(address, "power/runtime_status");
    if (status === undefined) return "always-on";
    return status === "suspended" || status === "suspending" ? "asleep" : "awake";
  }

  #read(address: string, name: string): string | undefined {
    try {
      return readFileSync(`${this.#devices}/${address}/${name}`, "utf8")
        .replaceAll("\0", "")
        .trim();
    } catch {
      return undefined;
    }
  }
}

/** Idle time after which the driver is closed, since an open driver keeps the GPU awake. */
const idleForMs = 60_000;
/** If the GPU is not asleep after this time, another program keeps it awake, and closing the driver has no effect. */
const fallAsleepMs = 30_000;
const notAgainForMs = 1_800_000;
const askAgainMs = 60_000;

export class SleepController {
  #letGo: { readonly sinceMs: number; sleeps: boolean } | undefined;
  #idleSinceMs: number | undefined;
  #notBeforeMs = 0;

  /** True if the driver is closed so that the GPUs can sleep. */
  get dozing(): boolean {
    return this.#letGo !== undefined;
  }

  advise(
    nowMs: number,
    isIdle: boolean,
    state: () => GpuSleepState,
  ): "stay" | "let-go" | "take-up" {
    if (this.#letGo !== undefined) return this.#whileDozing(nowMs, this.#letGo, state());
    if (!isIdle || nowMs < this.#notBeforeMs) {
      this.#idleSinceMs = undefined;
      return "stay";
    }
    this.#idleSinceMs ??= nowMs;
    if (nowMs - this.#idleSinceMs < idleForMs) return "stay";
    if (state() === "always-on") {
      this.#notBeforeMs = nowMs + askAgainMs;
      return "stay";
    }
    this.#letGo = { sinceMs: nowMs, sleeps: false };
    return "let-go";
  }

  #whileDozing(
    nowMs: number,
    letGo: { readonly sinceMs: number; sleeps: boolean },
    state: GpuSleepState,
  ): "stay" | "take-up" {
    if (state === "asleep") {
      letGo.sleeps = true;
      return "stay";
    }
    if (state === "awake" && !letGo.sleeps && nowMs - letGo.sinceMs < fallAsleepMs) return "stay";
    if (!letGo.sleeps) this.#notBeforeMs = nowMs + notAgainForMs;
    this.#letGo = undefined;
    this.#idleSinceMs = undefined;
    return "take-up";
  }
}
