import { expect, test } from "vitest";
import { htmlOf } from "./html.ts";

test("a host that is HTML is shown in the report, and does nothing in it", () => {
  const hostile = `</title></style><script>alert(1)</script><img src=x onerror='alert(1)'>" onclick="x`;
  const column = { name: "host", kind: "text" as const, unit: "", help: hostile };
  const number = { name: "watts", kind: "number" as const, unit: "W", help: "" };
  const report = htmlOf(
    [{ name: "x", title: hostile, columns: [column, number], rows: [[hostile, 1]] }],
    { input: hostile, madeMs: 0, version: hostile, timezone: hostile },
  );
  expect(report).toContain("&lt;script&gt;alert(1)");
  expect(report).toContain(`content="default-src 'none'; style-src 'unsafe-inline'`);
  expect(report).not.toMatch(/<(script|img|iframe|object|base|form)\b/i);
  for (const tag of report.match(/<[a-z][^>]*>/g) ?? []) expect(tag).not.toMatch(/["']\s*on\w+=/i);
});
