/** The labels of an OTLP exemplar, built as Prometheus does: trace and span first, then the attributes if they fit. */
import type { Label, LabelSet } from "../../../model/labels.ts";
import type { Attributes } from "./model.ts";
import { labelName } from "./names.ts";

/** Prometheus's limit of an exemplar's names and values together, in characters. */
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
  // Like Prometheus: all attributes or none.
  return text > maxText ? labels : [...labels, ...named];
}
