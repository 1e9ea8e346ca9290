/**
 * Which container holds which device, from the kubelet's list. The list is read independently of the GPUs' schedule, every two
 * seconds and one call at a time, so that a slow driver delays no owner. A list that could not be renewed expires after a few
 * seconds, since an unknown owner is better than an outdated one.
 */
import { formatError, systemCode } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import { type Attribution, known, unknown } from "../attribution.ts";
import { listPodResources } from "./client.ts";
import { type DeviceFacts, kubeletNames } from "./device-names.ts";
import { type AllocatedDevice, decodePodResources } from "./pod-resources.ts";

export interface KubeletDevicesOptions {
  readonly socket: string;
  readonly nowMs: () => number;
  readonly log: Log;
  readonly deadlineMs?: number;
  /** Pause between two list calls, and the maximum age of the list when `refresh` is called. */
  readonly everyMs?: number;
}

/** Maximum age of a list while the kubelet fails or is slow; two calls have failed by then. */
const longestAgeMs = 6_000;
/** Without a `refresh` for this long the list is unused and no longer renewed. */
const unusedMs = 30_000;

type FailureReason = "unavailable" | "denied" | "failed";

export class KubeletDevices {
  readonly #options: KubeletDevicesOptions;
  readonly #listeners: (() => void)[] = [];
  #byDevice: ReadonlyMap<string, readonly AllocatedDevice[]> = new Map();
  /** Start of the call that returned the list, so the earliest time it is valid for. */
  #listedMs = Number.NEGATIVE_INFINITY;
  #reason: FailureReason | undefined = "unavailable";
  #fingerprint = "";
  #askedMs: number | undefined;
  #wantedMs = 0;
  #asking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;

  constructor(options: KubeletDevicesOptions) {
    this.#options = options;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Renews an old list, and keeps it renewed afterwards. Never rejects: an error becomes the reason of unknown holders. */
  async refresh(): Promise<void> {
    const { nowMs, everyMs = 2_000 } = this.#options;
    this.#wantedMs = nowMs();
    if (this.#askedMs !== undefined && nowMs() - this.#askedMs < everyMs / 2) return this.#asking;
    await this.#ask();
  }

  /** All containers that hold the device: several if it is time-sliced, none if it is free. */
  holders(device: DeviceFacts): Attribution<readonly AllocatedDevice[]> {
    const isOld = this.#options.nowMs() - this.#listedMs > longestAgeMs;
    if (isOld) return unknown(this.#reason ?? "failed");
    return known(kubeletNames(device).flatMap((name) => this.#byDevice.get(name) ?? []));
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#list().finally(() => {
      this.#asking = undefined;
      this.#schedule();
    });
    return this.#asking;
  }

  #schedule(): void {
    const { nowMs, everyMs = 2_000 } = this.#options;
    clearTimeout(this.#timer);
    // A missing socket is retried only on the GPUs' schedule.
    if (this.#reason === "unavailable" || nowMs() - this.#wantedMs > unusedMs) return;
    this.#timer = setTimeout(() => void this.#ask(), everyMs).unref();
  }

  async #list(): Promise<void> {
    const { socket, deadlineMs = 3_000, log, nowMs } = this.#options;
    const askedMs = (this.#askedMs = nowMs());
    try {
      const held = decodePodResources(await listPodResources({ socket, deadlineMs }));
      this.#replace(held, askedMs);
      this.#reason = undefined;
    } catch (thrown) {
      const before = this.#reason;
      this.#reason = kubeletReason(systemCode(thrown));
      // If the kubelet has stopped or denies access, drop the list at once; only a slow or failing kubelet keeps it.
      if (this.#reason !== "failed") this.#listedMs = Number.NEGATIVE_INFINITY;
      if (this.#reason !== before && this.#reason !== "unavailable")
        log.warn("kubelet pod resources unavailable", { socket, error: formatError(thrown) });
    }
  }

  #replace(held: readonly AllocatedDevice[], askedMs: number): void {
    const byDevice = new Map<string, AllocatedDevice[]>();
    for (const one of held) {
      const holders = byDevice.get(one.device);
      if (holders === undefined) byDevice.set(one.device, [one]);
      else holders.push(one);
    }
    this.#byDevice = byDevice;
    this.#listedMs = askedMs;
    clearTimeout(this.#expiry);
    const restMs = longestAgeMs - (this.#options.nowMs() - askedMs);
    this.#expiry = setTimeout(() => this.#announce(""), Math.max(0, restMs) + 1).unref();
    this.#announce(JSON.stringify(held));
  }

  #announce(fingerprint: string): void {
    if (fingerprint === this.#fingerprint) return;
    this.#fingerprint = fingerprint;
    for (const listener of this.#listeners) listener();
  }
}

function kubeletReason(code: string | undefined): FailureReason {
  if (code === "ENOENT") return "unavailable";
  return code === "EACCES" || code === "EPERM" ? "denied" : "failed";
}
