import { expect, test } from "vitest";
import { analyses } from "../list.ts";
import { readParameters } from "../parameters.ts";
import { sparkScript } from "./script.ts";

const nowMs = Date.parse("2026-11-15T12:00:00Z");
const scriptFor = (format: "csv" | "json" | "parquet"): string =>
  sparkScript({
    analyses,
    settings: readParameters({}, nowMs),
    input: "file:/lake",
    span: { firstMs: nowMs - 86_400_000, lastMs: nowMs },
    save: { folder: "file:/out", format },
  });

test("every text that Spark writes as CSV is disarmed for spreadsheets, and no number is touched", () => {
  const script = scriptFor("csv");
  for (const { columns } of analyses)
    for (const { name, kind } of columns) {
      const disarmed = `concat(chr(39), ${name}), ${name}) as ${name}`;
      if (kind === "text") expect(script).toContain(disarmed);
    }
  const numbers = new Set(
    analyses.flatMap(({ columns }) =>
      columns.flatMap((one) => (one.kind === "number" ? one.name : [])),
    ),
  );
  const texts = new Set(
    analyses.flatMap(({ columns }) =>
      columns.flatMap((one) => (one.kind === "text" ? one.name : [])),
    ),
  );
  for (const name of numbers)
    if (!texts.has(name)) expect(script).not.toContain(`concat(chr(39), ${name})`);
});

test.each(["json", "parquet"] as const)("%s is written as it is", (format) => {
  expect(scriptFor(format)).not.toContain("chr(39)");
});
