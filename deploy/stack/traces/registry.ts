// The last traces in memory: the spans of a trace together, from all programs and requests. A request that is not valid OTLP is
// rejected as a whole.

import * as v from "valibot";

const attribute = v.object({
  key: v.string(),
  value: v.optional(v.record(v.string(), v.unknown())),
});
const nanoseconds = v.pipe(v.union([v.string(), v.number()]), v.transform(Number), v.finite());
const payload = v.object({
  resourceSpans: v.array(
    v.object({
      resource: v.optional(v.object({ attributes: v.optional(v.array(attribute), []) })),
      scopeSpans: v.array(
        v.object({
          spans: v.array(
            v.object({
              traceId: v.string(),
              spanId: v.string(),
              parentSpanId: v.optional(v.string(), ""),
              name: v.string(),
              startTimeUnixNano: nanoseconds,
              endTimeUnixNano: nanoseconds,
            }),
          ),
        }),
      ),
    }),
  ),
});

export interface Span {
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly service: string;
  readonly name: string;
  readonly startMs: number;
  readonly durationMs: number;
}

export interface Trace {
  readonly traceId: string;
  readonly spans: readonly Span[];
}

export class TraceRegistry {
  readonly #traces = new Map<string, Span[]>();
  readonly #most: number;
  /** The number of spans received since the start. */
  spans = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws if it is not an OTLP trace request. */
  take(body: unknown): void {
    for (const { traceId, ...span } of readSpans(body)) this.#add(traceId, span);
  }

  /** The newest traces first; only those in which all the services took part. */
  newest(services: readonly string[], limit: number): readonly Trace[] {
    return [...this.#traces]
      .reverse()
      .filter(([, spans]) =>
        services.every((name) => spans.some(({ service }) => service === name)),
      )
      .slice(0, limit)
      .map(([traceId, spans]) => ({
        traceId,
        spans: [...spans].sort((left, right) => left.startMs - right.startMs),
      }));
  }

  #add(traceId: string, span: Span): void {
    const spans = this.#traces.get(traceId) ?? [];
    if (spans.length === 0) {
      this.#traces.set(traceId, spans);
      const [oldest] = this.#traces.keys();
      if (this.#traces.size > this.#most && oldest !== undefined) this.#traces.delete(oldest);
    }
    this.spans++;
    spans.push(span);
  }
}

/** @throws if it is not an OTLP trace request. */
export function readSpans(body: unknown): (Span & { readonly traceId: string })[] {
  return v.parse(payload, body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const named = resource?.attributes.find(({ key }) => key === "service.name")?.value;
    const text = named?.["stringValue"];
    const service = typeof text === "string" ? text : "unnamed";
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ startTimeUnixNano, endTimeUnixNano, ...span }) => ({
        ...span,
        service,
        startMs: startTimeUnixNano / 1e6,
        // Nanoseconds since 1970 are not exact in a double; microseconds are.
        durationMs: Math.round((endTimeUnixNano - startTimeUnixNano) / 1e3) / 1e3,
      }));
  });
}
