/** From what a person wrote to a running sink. */
import { parseComponent } from "../config/component.ts";
import type { Sink, SinkContext } from "../pipeline/sink.ts";
import { sinks } from "./list.ts";

export async function openSink(
  url: string | Readonly<Record<string, unknown>>,
  context: SinkContext,
): Promise<Sink> {
  const { definition, options } = parseComponent(
    { noun: "sink", unknown: "SINK_UNKNOWN", list: sinks },
    url,
  );
  return definition.create(options, context);
}
