/** Which container holds which device, kept fresh in the background: asked at most once in a while, one call at a time. */
import { formatError, systemCode } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import { type Attribution, known, unknown } from "../attribution.ts";
import { listPodResources } from "./client.ts";
import { type AllocatedDevice, decodePodResources, plainDeviceId } from "./pod-resources.ts";

export interface KubeletDevicesOptions {
  readonly socket: string;
  readonly nowMs: () => number;
  readonly log: Log;
  readonly deadlineMs?: number;
  /** How long an answer, or a failure, is good for. */
  readonly expiryMs?: number;
}

export class KubeletDevices {
  readonly #options: KubeletDevicesOptions;
  #byDevice: ReadonlyMap<string, readonly AllocatedDevice[]> = new Map();
  #reason: "unavailable" | "denied" | "failed" | undefined = "unavailable";
  #askedMs: number | undefined;
  #asking: Promise<void> | undefined;

  constructor(options: KubeletDevicesOptions) {
    this.#options = options;
  }

  /** Asks again where the last answer is old. Never rejects: trouble becomes the reason of what it tells. */
  async refresh(): Promise<void> {
    const { nowMs, expiryMs = 10_000 } = this.#options;
    if (this.#askedMs !== undefined && nowMs() - this.#askedMs < expiryMs) return this.#asking;
    this.#askedMs = nowMs();
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    await this.#asking;
  }

  /** Everyone who holds the device: one container, or several where it is time-sliced; none where it is free. */
  holders(deviceId: string): Attribution<readonly AllocatedDevice[]> {
    if (this.#reason !== undefined) return unknown(this.#reason);
    return known(this.#byDevice.get(plainDeviceId(deviceId)) ?? []);
  }

  async #ask(): Promise<void> {
    const { socket, deadlineMs = 2_000, log } = this.#options;
    try {
      const held = decodePodResources(await listPodResources({ socket, deadlineMs }));
      const byDevice = new Map<string, AllocatedDevice[]>();
      for (const device of held) {
        const id = plainDeviceId(device.deviceId);
        byDevice.set(id, [...(byDevice.get(id) ?? []), device]);
      }
      this.#byDevice = byDevice;
      this.#reason = undefined;
    } catch (thrown) {
      this.#byDevice = new Map();
      const before = this.#reason;
      this.#reason = reasonOf(systemCode(thrown));
      if (this.#reason !== before && this.#reason !== "unavailable")
        log.warn("pods cannot be told from the kubelet", { socket, error: formatError(thrown) });
    }
  }
}

function reasonOf(code: string | undefined): "unavailable" | "denied" | "failed" {
  if (code === "ENOENT") return "unavailable";
  return code === "EACCES" || code === "EPERM" ? "denied" : "failed";
}
