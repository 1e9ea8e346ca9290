/** The recent curves of the GPUs on the page and in the terminal, by GPU id. */
import { type Gpu, gpuId, memoryRatio, read, temperature } from "./gpu.ts";
import { decodeCurves, type EncodedHistory } from "./live/fleet-columns.ts";
import { historyPoint, RecentHistory } from "./live/history.ts";
import type { HistoryKey, WireDevice, WireFleet } from "./live/protocol.ts";

interface EncodedCurves {
  readonly history: EncodedHistory;
  /** The index of the device in the history. */
  readonly place: number;
}

export class GpuHistory extends RecentHistory {
  readonly #encoded = new Map<string, EncodedCurves>();

  /** Adopts the sender's curves, which include the time before this program started and while it was disconnected. */
  restore({ devices, history: { points, keys, endSecond } }: WireFleet): void {
    devices.forEach((device, place) => {
      this.#adopt(gpuId(device), keys, points[place] ?? [], endSecond);
    });
  }

  /** The same with encoded curves, which are decoded when one of that GPU is first read. */
  restoreEncoded(devices: readonly WireDevice[], history: EncodedHistory): void {
    devices.forEach((device, place) => this.#encoded.set(gpuId(device), { history, place }));
  }

  record(gpu: Gpu): void {
    const second = Math.floor(gpu.timeMs / 1_000);
    this.#forgetOld(gpu.id, second);
    this.write(
      gpu.id,
      second,
      historyPoint((key) => {
        if (key === "memoryUsedRatio") return memoryRatio(gpu);
        return key === "temperatureEdge" ? temperature(gpu) : read(gpu, key);
      }),
    );
  }

  override read(
    device: string,
    key: HistoryKey,
    endSecond: number,
    count?: number,
  ): (number | null)[] {
    const encoded = this.#encoded.get(device);
    if (encoded !== undefined) {
      this.#encoded.delete(device);
      const { history, place } = encoded;
      this.#adopt(device, history.keys, decodeCurves(history, place), history.endSecond);
    }
    return super.read(device, key, endSecond, count);
  }

  override forgetAllBut(devices: ReadonlySet<string>): void {
    super.forgetAllBut(devices);
    for (const device of this.#encoded.keys())
      if (!devices.has(device)) this.#encoded.delete(device);
  }

  #adopt(
    device: string,
    keys: readonly HistoryKey[],
    curves: readonly (readonly (number | null)[])[],
    endSecond: number,
  ): void {
    this.writeCurves(
      device,
      endSecond,
      Object.fromEntries(keys.map((key, at) => [key, curves[at] ?? []])),
    );
  }

  /** Frees curves that nobody read and that have left the window. */
  #forgetOld(device: string, second: number): void {
    const encoded = this.#encoded.get(device);
    if (encoded !== undefined && encoded.history.endSecond <= second - this.seconds)
      this.#encoded.delete(device);
  }
}
