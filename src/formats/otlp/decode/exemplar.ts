/** The labels of an OTLP exemplar, as Prometheus makes them: trace and span first, then attributes as far as there is room. */
import type { Label, LabelSet } from "../../../model/labels.ts";
import type { Attributes } from "./model.ts";
import { labelName } from "./names.ts";

/** Names and values together, in characters: what Prometheus accepts of an exemplar. */
const maxText = 128;

export function exemplarLabels(traceId: string, spanId: string, attributes: Attributes): LabelSet {
  const labels: Label[] = [];
  if (spanId !== "") labels.push(["span_id", spanId]);
  if (traceId !== "") labels.push(["trace_id", traceId]);
  const named = attributes
    .filter(([key]) => key !== "")
    .map(([key, value]) => [labelName(key), value] as const);
  const text = [...labels, ...named].reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
  // As Prometheus: all attributes or none.
  return text > maxText ? labels : [...labels, ...named];
}
