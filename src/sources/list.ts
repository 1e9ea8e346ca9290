/** The list of all sources, in the order in which `doctor` and `auto` probe them. To add a source, add a folder and a line here. */
import { amd } from "./amd/define.ts";
import { influxDbHttp, influxDbHttps, prometheusHttp, prometheusHttps } from "./backfill/define.ts";
import { csv } from "./csv/define.ts";
import { fault } from "./fault/define.ts";
import { gpuz } from "./gpuz/define.ts";
import { host } from "./host/define.ts";
import { kafkaSource } from "./kafka/define.ts";
import { intel } from "./intel/define.ts";
import { nvidia } from "./nvidia/define.ts";
import { run } from "./run/define.ts";
import { otlpListener } from "./otlp/define.ts";
import { remoteWriteListener } from "./remote-write/define.ts";
import { parquet, s3, webhdfs } from "./parquet/define.ts";
import { sim } from "./sim/define.ts";
import type { SourceDefinition } from "./source.ts";

export const sources: readonly SourceDefinition[] = [
  nvidia,
  amd,
  intel,
  host,
  gpuz,
  csv,
  parquet,
  s3,
  webhdfs,
  prometheusHttp,
  prometheusHttps,
  influxDbHttp,
  influxDbHttps,
  run,
  sim,
  fault,
  kafkaSource,
  otlpListener,
  remoteWriteListener,
];
