import { expect, test } from "vitest";
import { acceptsGzip, negotiateFormat } from "./negotiate.ts";

const prometheus2 =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const prometheus3 =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

test.each([
  [undefined, "text"],
  ["*/*", "text"],
  ["text/plain", "text"],
  ["application/openmetrics-text", "openmetrics"],
  ["application/openmetrics-text;version=2.0.0", "text"],
  ["application/openmetrics-text;q=0", "text"],
  ["application/openmetrics-text;q=0.1,text/plain;q=0.9", "text"],
  ["text/html,application/xhtml+xml,*/*;q=0.8", "text"],
  [prometheus2, "openmetrics"],
  [prometheus3, "openmetrics"],
])("Accept %s gives %s", (accept, format) => expect(negotiateFormat(accept)).toBe(format));

test.each([
  [undefined, false],
  ["gzip", true],
  ["br, gzip;q=0.5", true],
  ["gzip;q=0", false],
  ["*", true],
  ["*;q=0", false],
  ["identity", false],
  ["gzip;q=0, *", false],
])("Accept-Encoding %s: gzip %s", (header, gzip) => expect(acceptsGzip(header)).toBe(gzip));
