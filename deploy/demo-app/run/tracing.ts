// OpenTelemetry traces: spans, W3C context in and out, and OTLP over HTTP as JSON. Without a URL nothing is sent, but ids are
// still created and propagated, since log lines contain them.

import {
  type Attributes,
  context,
  type Context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

import { reasonOf } from "./log.ts";

export interface Tracing {
  readonly tracer: Tracer;
  /** Flushes the remaining spans. */
  stop(): Promise<void>;
}

export function startTracing(service: string, endpoint: string | undefined): Tracing {
  const exporter =
    endpoint === undefined ? undefined : new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      "service.name": service,
      "service.namespace": "gpulse-demo-app",
    }),
    spanProcessors:
      exporter === undefined
        ? []
        : [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000 })],
  });
  provider.register({ propagator: new W3CTraceContextPropagator() });
  return { tracer: provider.getTracer("gpulse-demo-app"), stop: () => provider.shutdown() };
}

export interface SpanHow {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** The parent context; the active one by default. */
  readonly parent?: Context;
}

/** Runs within a span that ends, or fails, with `run`. */
export async function inSpan<T>(
  tracer: Tracer,
  name: string,
  how: SpanHow,
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = how.parent ?? context.active();
  const { kind = SpanKind.INTERNAL, attributes = {} } = how;
  const span = tracer.startSpan(name, { kind, attributes }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), run, undefined, span);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: reasonOf(error) });
    throw error;
  } finally {
    span.end();
  }
}

/** The active context as headers (`traceparent`), for a request or a job. */
export function contextHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

export function contextFrom(headers: Readonly<Record<string, unknown>>): Context {
  return propagation.extract(context.active(), headers);
}
