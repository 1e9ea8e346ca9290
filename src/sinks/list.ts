/** Every sink that can be named on the command line. A new sink is a folder and a line here. */
import type { SinkDefinition } from "../pipeline/sink.ts";
import { remoteWriteHttp, remoteWriteHttps } from "./remote-write/define.ts";
import { kafkaSink } from "./kafka/define.ts";
import { hubHttp, hubHttps } from "./hub/define.ts";
import { influxdb, influxdbs } from "./influxdb/define.ts";
import { mqtt, mqtts } from "./mqtt/define.ts";
import { otlpHttp, otlpHttps } from "./otlp/define.ts";
import { clickhouse, clickhouses } from "./clickhouse/define.ts";
import { cloudwatch } from "./cloudwatch/define.ts";
import { parquet, s3, webhdfs } from "./parquet/define.ts";
import { stdout } from "./stdout/define.ts";

export const sinks: readonly SinkDefinition[] = [
  stdout,
  parquet,
  s3,
  webhdfs,
  hubHttp,
  hubHttps,
  remoteWriteHttp,
  remoteWriteHttps,
  otlpHttp,
  otlpHttps,
  kafkaSink,
  influxdb,
  influxdbs,
  clickhouse,
  clickhouses,
  cloudwatch,
  mqtt,
  mqtts,
];
