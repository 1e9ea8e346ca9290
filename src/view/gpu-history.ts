/** The recent curves of the GPUs on the page and in the terminal, by GPU id. */
import { type Gpu, gpuId, memoryRatio, read, temperature } from "./gpu.ts";
import { historyPoint, RecentHistory } from "./live/history.ts";
import type { WireFleet } from "./live/protocol.ts";

export class GpuHistory extends RecentHistory {
  /** Adopts the sender's curves, which include the time before this program started and while it was disconnected. */
  restore({ devices, history: { points, keys, endSecond } }: WireFleet): void {
    devices.forEach((device, place) => {
      const columns = points[place] ?? [];
      const curves = Object.fromEntries(keys.map((key, at) => [key, columns[at] ?? []]));
      this.writeCurves(gpuId(device), endSecond, curves);
    });
  }

  record(gpu: Gpu): void {
    this.write(
      gpu.id,
      Math.floor(gpu.timeMs / 1_000),
      historyPoint((key) => {
        if (key === "memoryUsedRatio") return memoryRatio(gpu);
        return key === "temperatureEdge" ? temperature(gpu) : read(gpu, key);
      }),
    );
  }
}
