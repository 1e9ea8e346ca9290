import { expect, test } from "vitest";

import { TraceRegistry } from "./registry.ts";

const sent = (service: string, traceId: string, spanId: string, parentSpanId = "") => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: service } }] },
      scopeSpans: [
        {
          spans: [
            {
              traceId,
              spanId,
              parentSpanId,
              name: `${service} works`,
              startTimeUnixNano: "1794751410000000000",
              endTimeUnixNano: "1794751410250000000",
            },
          ],
        },
      ],
    },
  ],
});

test("spans of one trace come together from different programs, the newest trace first", () => {
  const traces = new TraceRegistry(10);
  traces.take(sent("gateway", "a", "1"));
  traces.take(sent("gateway", "b", "2"));
  traces.take(sent("worker", "a", "3", "1"));
  expect(traces.newest([], 5).map(({ traceId }) => traceId)).toEqual(["b", "a"]);
  const [both] = traces.newest(["gateway", "worker"], 5);
  expect(both?.spans.map(({ service, durationMs }) => [service, durationMs])).toEqual([
    ["gateway", 250],
    ["worker", 250],
  ]);
});

test("only the last traces are kept, and what is no trace is refused", () => {
  const traces = new TraceRegistry(2);
  for (const id of ["a", "b", "c"]) traces.take(sent("ml", id, id));
  expect(traces.newest([], 9).map(({ traceId }) => traceId)).toEqual(["c", "b"]);
  expect(traces.spans).toBe(3);
  expect(() =>
    traces.take({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: "x" }] }] }] }),
  ).toThrow("traceId");
});
