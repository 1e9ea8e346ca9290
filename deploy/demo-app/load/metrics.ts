// The load generator's metrics. Latency is measured from the time a request was due, not from when it was sent, so that a late
// generator does not make the service look faster than it was.

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

import { type Bucket, REQUEST_SECONDS } from "../run/buckets.ts";

export type LoadMetrics = ReturnType<typeof loadMetrics>;

export function loadMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    arrivals: new Counter({
      name: "load_arrivals_total",
      help: "Requests that were due.",
      registers,
    }),
    dropped: new Counter({
      name: "load_arrivals_dropped_total",
      help: "Requests that were due and not sent, since too many were in flight.",
      registers,
    }),
    requests: new Counter({
      name: "load_requests_total",
      help: "Requests answered, by status; error: no answer came.",
      labelNames: ["status"],
      registers,
    }),
    seconds: new Histogram({
      name: "load_request_duration_seconds",
      help: "From the moment a request was due to the end of its answer.",
      labelNames: ["kind"],
      buckets: [...REQUEST_SECONDS],
      registers,
    }),
    lag: new Histogram({
      name: "load_send_lag_seconds",
      help: "How late requests were sent.",
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    }),
  };
}

export function tellLoad(
  { registry }: LoadMetrics,
  read: { readonly rate: () => number; readonly inFlight: () => number },
): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    const made: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => made.set(value()),
    });
  };
  gauge("load_target_rate", "Requests a second that are due now.", read.rate);
  gauge("load_in_flight", "Requests sent and not answered.", read.inFlight);
}

/** All kinds together, cumulative by upper bound. */
export async function durationBuckets({ seconds }: LoadMetrics): Promise<Bucket[]> {
  const { values } = await seconds.get();
  const counts = new Map<number, number>();
  for (const { metricName, labels, value } of values) {
    if (metricName !== "load_request_duration_seconds_bucket") continue;
    // The library's types omit the label that it adds itself.
    const { le } = labels as Readonly<Record<string, string | number>>;
    const upper = le === "+Inf" ? Infinity : Number(le);
    counts.set(upper, (counts.get(upper) ?? 0) + value);
  }
  return [...counts].sort(([left], [right]) => left - right);
}

export async function statusCounts({ requests }: LoadMetrics): Promise<Record<string, number>> {
  const { values } = await requests.get();
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels.status ?? ""}`, value]));
}
