// Installs every downloaded engine before the first test, so that no test's time limit includes it. Failures are reported and
// left to the tests that need the engine, which fail or skip with the same reason.

import { findCadvisor } from "./cadvisor.ts";
import { buildDevicePlugin } from "./device-plugin.ts";
import { buildDraDriver } from "./dra-driver.ts";
import { dynamoPython } from "./dynamo.ts";
import { guidellm } from "./guidellm.ts";
import { hdfsJars } from "./hdfs.ts";
import { kubeTools } from "./helm.ts";
import { kafkaClassPath } from "./kafka.ts";
import { buildIntelDevicePlugin } from "./intel-device-plugin.ts";
import { buildKeda } from "./keda.ts";
import { buildKubelet } from "./kubelet.ts";
import { buildKubernetes } from "./kubernetes-programs.ts";
import { llamaCpp } from "./llamacpp.ts";
import { loadgen } from "./loadgen.ts";
import { mlperfChecker } from "./mlperf-checker.ts";
import { node24 } from "./node24.ts";
import { buildPrometheusAdapter } from "./prometheus-adapter.ts";
import { findPrometheus3 } from "./prometheus3.ts";
import { s3Python } from "./s3.ts";
import { registryJar } from "./schema-registry.ts";
import { findSpark } from "./spark.ts";
import { trinoServer } from "./trino.ts";

type Engine = readonly [name: string, bring: () => Promise<unknown>];

/** Queues run in parallel; Maven has a single queue, since two instances would write to one repository. */
const downloadQueues: readonly (readonly Engine[])[] = [
  [
    ["Kafka", kafkaClassPath],
    ["HDFS", hdfsJars],
    ["Spark", findSpark],
    ["the schema registry", registryJar],
  ],
  [
    ["the S3 server", s3Python],
    ["Node 24", node24],
    ["LoadGen", loadgen],
    ["llama.cpp", llamaCpp],
    ["Dynamo", dynamoPython],
  ],
  [
    ["cAdvisor", findCadvisor],
    ["Helm", kubeTools],
    ["Prometheus 3", findPrometheus3],
    ["MLPerf's checker of system descriptions", mlperfChecker],
  ],
];

/** Installed only by name or with --full: too slow for every run on a new machine. */
const onRequest: readonly Engine[] = [
  ["guidellm", guidellm],
  ["Trino", trinoServer],
  ["Kubernetes", buildKubernetes],
  ["KEDA", buildKeda],
  ["DevicePlugin", buildDevicePlugin],
  ["DevicePlugin", buildIntelDevicePlugin],
  ["Kubelet", buildDraDriver],
  ["Kubelet", buildKubelet],
  ["PrometheusAdapter", buildPrometheusAdapter],
];

async function bringAll(engines: readonly Engine[]): Promise<void> {
  for (const [name, bring] of engines) {
    try {
      await bring();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      process.stderr.write(`– ${name} could not be brought, its tests will say so: ${reason}\n`);
    }
  }
}

const full = process.argv.includes("--full");
const wanted = new Set(process.argv.slice(2).filter((one) => one !== "--full"));
await Promise.all(
  downloadQueues.map((lane) =>
    bringAll(lane.filter(([name]) => wanted.size === 0 || wanted.has(name))),
  ),
);
await bringAll(onRequest.filter(([name]) => full || wanted.has(name)));
