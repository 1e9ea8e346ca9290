/** The list of models. To add a GPU, add a table and a line here. */
import type { GpuModel } from "../physics/model.ts";
import { mi300x, rx7700xt, rx7800xt } from "./amd.ts";
import { h100, h200, rtx4090 } from "./nvidia.ts";

export const models: readonly GpuModel[] = [h200, h100, rtx4090, mi300x, rx7800xt, rx7700xt];

/** Finds a model by key or name, ignoring case and spaces: `h200`, `RX 7800 XT`, `NVIDIA GeForce RTX 4090`. */
export function findModel(text: string): GpuModel | undefined {
  const wanted = plain(text);
  return models.find(({ key, name }) => plain(key) === wanted || plain(name) === wanted);
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "");
