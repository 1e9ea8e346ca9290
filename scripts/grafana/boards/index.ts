/** The PromQL dashboards, in the order of their links. */
import type { Board } from "../shape.ts";
import { alerts } from "./alerts.ts";
import { application } from "./app.ts";
import { compare } from "./compare.ts";
import { fleet } from "./fleet.ts";
import { gpuDetail } from "./gpu.ts";
import { hostAndContainers } from "./host.ts";
import { mlWorkload } from "./ml.ts";
import { services } from "./services.ts";
import { serving } from "./serving.ts";
import { vllm } from "./vllm.ts";

export const boards: readonly Board[] = [
  fleet,
  gpuDetail,
  compare,
  mlWorkload,
  application,
  hostAndContainers,
  alerts,
  services,
  serving,
  vllm,
];
