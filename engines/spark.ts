// Spark 4 from PyPI with its Kafka source from Maven, kept in the user's cache: where its programs are and how they are called.

import { readdirSync } from "node:fs";
import path from "node:path";

import { mavenJars, requiredTool } from "./cache.ts";
import { pythonPackages } from "./python.ts";

/** spark-kafka.xml names the same. */
const VERSION = "4.0.0";

export interface Spark {
  readonly sparkSubmit: string;
  readonly sparkSql: string;
  /** A Python that has pyspark. */
  readonly python: string;
  /** Jars of the Kafka source, for `--jars`, joined by a comma. */
  readonly kafkaJars: readonly string[];
  /** What its programs need in their environment. */
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
      // Otherwise it asks for the machine's own name and listens there.
      SPARK_LOCAL_IP: "127.0.0.1",
      SPARK_LOCAL_HOSTNAME: "127.0.0.1",
    },
  };
}

/** The jar of Iceberg's runtime, for `--jars`. */
export async function icebergJar(): Promise<string> {
  const folder = await mavenJars("spark-iceberg");
  const name = readdirSync(folder).find((file) => file.startsWith("iceberg-spark-runtime"));
  if (name === undefined) throw new Error(`${folder} has no jar of Iceberg's runtime`);
  return path.join(folder, name);
}
