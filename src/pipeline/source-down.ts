/** Frames for the GPUs of an unreachable source: gpu_up 0 and gpu_info. Without them the GPUs would seem to be removed. */
import { gpu } from "../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../model/device.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { type Layout, LayoutBuilder } from "../model/layout.ts";

export class SourceDownFrames {
  readonly #host: string;
  #devices: readonly Device[] = [];
  #layout: Layout = { series: [] };

  constructor(host: string) {
    this.#host = host;
  }

  at(timeMs: number, devices: readonly Device[]): Frame {
    if (devices !== this.#devices) {
      const builder = new LayoutBuilder();
      for (const device of devices) builder.add(gpu.up, deviceLabels(device, this.#host));
      for (const device of devices) builder.add(gpu.info, deviceInfoLabels(device, this.#host));
      this.#layout = builder.build();
      this.#devices = devices;
    }
    const writer = new FrameWriter(this.#layout, timeMs);
    this.#layout.series.forEach(({ metric }, slot) => writer.set(slot, metric === gpu.up ? 0 : 1));
    return writer.finish();
  }
}
