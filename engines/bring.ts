// Brings every engine that is downloaded before the first test starts, so that no test's own time pays for it.
// What cannot be got is reported and left to the tests that need it, which fail or skip with the same reason.

import { findCadvisor } from "./cadvisor.ts";
import { hdfsJars } from "./hdfs.ts";
import { kubeTools } from "./helm.ts";
import { kafkaClassPath } from "./kafka.ts";
import { node24 } from "./node24.ts";
import { findPrometheus3 } from "./prometheus3.ts";
import { s3Python } from "./s3.ts";
import { findSpark } from "./spark.ts";

type Engine = readonly [name: string, bring: () => Promise<unknown>];

/** Lanes run side by side; Maven has one lane, since two of it would write into one repository. */
const downloadQueues: readonly (readonly Engine[])[] = [
  [
    ["Kafka", kafkaClassPath],
    ["HDFS", hdfsJars],
    ["Spark", findSpark],
  ],
  [
    ["the S3 server", s3Python],
    ["Node 24", node24],
  ],
  [
    ["cAdvisor", findCadvisor],
    ["Helm", kubeTools],
    ["Prometheus 3", findPrometheus3],
  ],
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

const wanted = new Set(process.argv.slice(2));
await Promise.all(
  downloadQueues.map((lane) =>
    bringAll(lane.filter(([name]) => wanted.size === 0 || wanted.has(name))),
  ),
);
