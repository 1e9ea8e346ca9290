/** Opens an OTLP sink from its options. */
import type { Sink, SinkContext } from "../../pipeline/sink.ts";
import { compileRule } from "../../formats/relabel/rule.ts";
import {
  bareUrl,
  httpConfigOf,
  labelsOf,
  rulesOf,
  type SamplesOptions,
  sinkOptionsOf,
  targetOf,
} from "../samples-options.ts";
import { SamplesSink } from "../samples-sink.ts";
import { HardwareNames } from "./hardware.ts";
import { OtlpSender } from "./sender.ts";

export interface OtlpOptions extends Omit<SamplesOptions, "shards"> {
  readonly encoding: "protobuf" | "json";
  readonly names: "own" | "hw";
}

export function openOtlp(scheme: "http" | "https", given: OtlpOptions, context: SinkContext): Sink {
  const options: SamplesOptions = { ...given, shards: 1 };
  const target = targetOf(scheme, options);
  const sender = new OtlpSender(
    {
      url: bareUrl(target),
      timeoutMs: options.timeout,
      http: httpConfigOf(target, options),
      version: context.version,
      nowMs: () => context.clock.nowMs(),
    },
    given.encoding,
    given.names === "hw" ? new HardwareNames() : undefined,
  );
  const common = sinkOptionsOf("otlp", target, options, context);
  const externalLabels = labelsOf(options);
  const rules = rulesOf(options).map((rule) => compileRule(rule));
  return new SamplesSink({ ...common, externalLabels, rules }, sender, context);
}
