import { expect, test } from "vitest";
import { traceOf } from "./trace-url.ts";

test.for([
  ["https://t.example/{trace_id}", { trace_id: "a/b" }, "https://t.example/a%2Fb"],
  [
    "https://t.example/${trace_id}?s={span_id}",
    { trace_id: "1", span_id: "2" },
    "https://t.example/1?s=2",
  ],
  ["https://t.example/{trace_id}", { span_id: "2" }, undefined],
  [undefined, { trace_id: "1" }, undefined],
  ["javascript:alert({trace_id})", { trace_id: "1" }, undefined],
] as const)("%s with %j leads to %s", ([template, labels, href]) =>
  expect(traceOf(template, labels).href).toBe(href),
);
