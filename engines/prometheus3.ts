// Prometheus 3, built once from its Go module, since Debian's package is 2.42. Service discovery other than file and HTTP and the
// web interface are omitted: tests do not use them, and they take most of the build.

import path from "node:path";

import { goBuilt } from "./go.ts";
import { type PrometheusOptions, type RunningPrometheus, startPrometheus } from "./prometheus.ts";

const PROGRAM = "github.com/prometheus/prometheus/cmd/prometheus";

/** Returns the program, built on first use; throws EngineMissingError without a suitable Go. */
export async function findPrometheus3(): Promise<string> {
  const folder = await goBuilt("prometheus3", { beside: [PROGRAM], tags: ["remove_all_sd"] });
  return path.join(folder, "prometheus");
}

export async function startPrometheus3(
  options: Omit<PrometheusOptions, "path">,
): Promise<RunningPrometheus> {
  return startPrometheus({ ...options, path: await findPrometheus3() });
}
