// Prometheus 3, built once from its Go module, since Debian's package is 2.42. Service discovery other than file and HTTP and the
// web interface are omitted: tests do not use them, and they take most of the build.

import path from "node:path";

import { goBuilt, goModuleFiles } from "./go.ts";
import { type PrometheusOptions, type RunningPrometheus, startPrometheus } from "./prometheus.ts";

const PROGRAM = "github.com/prometheus/prometheus/cmd/prometheus";

/** Returns the program, built on first use; throws EngineMissingError without a suitable Go. */
export async function findPrometheus3(): Promise<string> {
  const folder = await goBuilt("prometheus3", { beside: [PROGRAM], tags: ["remove_all_sd"] });
  return path.join(folder, "prometheus");
}

const SCRIPTS =
  "aggregators at_modifier collision duration_expression extended_vectors fill-modifier functions histograms info limit " +
  "literals name_label_dropping native_histograms operators range_queries selectors staleness start_timestamps subquery " +
  "trig_functions type_and_unit";

/** Returns a folder with the PromQL test scripts of the same version. */
export function findPrometheusScripts(): Promise<string> {
  const files = SCRIPTS.split(" ").map((name) => `promql/promqltest/testdata/${name}.test`);
  return goModuleFiles("prometheus3", { module: "github.com/prometheus/prometheus", files });
}

export async function startPrometheus3(
  options: Omit<PrometheusOptions, "path">,
): Promise<RunningPrometheus> {
  return startPrometheus({ ...options, path: await findPrometheus3() });
}
