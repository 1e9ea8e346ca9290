// Spark 4 from PyPI with its Kafka source from Maven, in the user's cache: the paths of its programs and how to run them.

import { readdirSync } from "node:fs";
import path from "node:path";

import { mavenJars, requiredTool } from "./cache.ts";
import { pythonPackages } from "./python.ts";

/** Must match spark-kafka.xml. */
const VERSION = "4.0.0";

export interface Spark {
  readonly sparkSubmit: string;
  readonly sparkSql: string;
  /** A Python with pyspark. */
  readonly python: string;
  /** The jars of the Kafka source, for `--jars`, comma-separated. */
  readonly kafkaJars: readonly string[];
  /** The environment of its programs. */
  readonly env: Readonly<Record<string, string>>;
}

export async function findSpark(): Promise<Spark> {
  requiredTool("java");
  const jars = await mavenJars("spark-kafka");
  const { python, folder } = await pythonPackages("spark", [`pyspark==${VERSION}`]);
  const lib = path.join(folder, "lib");
  const home = path.join(lib, readdirSync(lib)[0] ?? "", "site-packages", "pyspark");
  return {
    sparkSubmit: path.join(home, "bin", "spark-submit"),
    sparkSql: path.join(home, "bin", "spark-sql"),
    python,
    kafkaJars: readdirSync(jars).map((name) => path.join(jars, name)),
    env: {
      SPARK_HOME: home,
      PYSPARK_PYTHON: python,
      // By default it resolves the machine's host name and listens there.
      SPARK_LOCAL_IP: "127.0.0.1",
      SPARK_LOCAL_HOSTNAME: "127.0.0.1",
    },
  };
}

/** Returns the jar of Iceberg's runtime, for `--jars`. */
export async function icebergJar(): Promise<string> {
  const folder = await mavenJars("spark-iceberg");
  const name = readdirSync(folder).find((file) => file.startsWith("iceberg-spark-runtime"));
  if (name === undefined) throw new Error(`${folder} has no jar of Iceberg's runtime`);
  return path.join(folder, name);
}
