// Prometheus 3, built once from its Go module: Debian's package is 2.42. Service discovery other than file and HTTP is left
// out, as is the web interface; neither is asked for here, and they take most of the build.

import path from "node:path";

import { goBuilt } from "./go.ts";
import { type PrometheusOptions, type RunningPrometheus, startPrometheus } from "./prometheus.ts";

const PROGRAM = "github.com/prometheus/prometheus/cmd/prometheus";

/** The program, built on first use; throws EngineMissingError where there is no Go that can. */
export async function findPrometheus3(): Promise<string> {
  const folder = await goBuilt("prometheus3", { beside: [PROGRAM], tags: ["remove_all_sd"] });
  return path.join(folder, "prometheus");
}

export async function startPrometheus3(
  options: Omit<PrometheusOptions, "path">,
): Promise<RunningPrometheus> {
  return startPrometheus({ ...options, path: await findPrometheus3() });
}
