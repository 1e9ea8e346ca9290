/** Parses a sink from the command line or gpulse.yaml, and opens it. */
import { type Component, parseComponent } from "../config/component.ts";
import type { Sink, SinkContext, SinkDefinition } from "../pipeline/sink.ts";
import { sinks } from "./list.ts";

export function parseSink(
  given: string | Readonly<Record<string, unknown>>,
): Component<SinkDefinition> {
  return parseComponent({ noun: "sink", unknown: "SINK_UNKNOWN", list: sinks }, given);
}

export async function openSink(
  given: string | Readonly<Record<string, unknown>>,
  context: SinkContext,
): Promise<Sink> {
  const { definition, options } = parseSink(given);
  return definition.create(options, context);
}
