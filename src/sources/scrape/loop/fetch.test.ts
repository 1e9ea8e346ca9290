import { expect, test } from "vitest";
import { acceptHeader } from "./fetch.ts";

test.for([
  [
    ["openmetrics", "text"],
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
  ],
  [
    ["protobuf", "text"],
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;version=0.0.4;q=0.67,*/*;q=0.1",
  ],
  [["text"], "text/plain;version=0.0.4,*/*;q=0.1"],
] as const)("%j is asked for as %s", ([formats, header]) => {
  expect(acceptHeader(formats)).toBe(header);
});
