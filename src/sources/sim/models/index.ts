/** The list of models. Adding a GPU is one table and one line here. */
import type { GpuModel } from "../physics/model.ts";
import { mi300x, rx7700xt, rx7800xt } from "./amd.ts";
import { h100, h200, rtx4090 } from "./nvidia.ts";

export const models: readonly GpuModel[] = [h200, h100, rtx4090, mi300x, rx7800xt, rx7700xt];

/** By key or name, in any case and with or without spaces: `h200`, `RX 7800 XT`, `NVIDIA GeForce RTX 4090`. */
export function findModel(text: string): GpuModel | undefined {
  const wanted = plain(text);
  return models.find(({ key, name }) => plain(key) === wanted || plain(name) === wanted);
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "");
