import { describe, expect, test } from "vitest";
import {
  ownCapture,
  publicFolder,
  publicSection,
} from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { parseHelpFields } from "./help-fields.ts";
import { basicColumns, csvColumns, smiRules } from "./table.ts";

const known = parseHelpFields(ownCapture("help-query-gpu.txt"));

test("driver 580 knows 255 names, of which several may be one column", () => {
  expect(known.size).toBe(255);
  expect(known.get("uuid")).toBe("uuid");
  expect(known.get("gpu_uuid")).toBe("uuid");
  expect(known.get("clocks.sm")).toBe("clocks.current.sm");
  expect(known.get("clocks_throttle_reasons.sw_power_cap")).toBe(
    "clocks_event_reasons.sw_power_cap",
  );
});

test("names it fails on are not among them", () => {
  for (const name of ["clocks.graphics", "clocks.max.video", "0: Default", ""])
    expect(known.has(name)).toBe(false);
});

test("a column comes back under a name its rule knows", () => {
  const strange = smiRules.flatMap(({ csv }) =>
    csv.flatMap((name) => {
      const headed = known.get(name);
      return headed === undefined || csv.includes(headed) ? [] : [headed];
    }),
  );
  expect(strange).toEqual([]);
});

test("what is asked without a list is known to it, and is of use", () => {
  expect(basicColumns.filter((name) => !known.has(name))).toEqual([]);
  expect(basicColumns.filter((name) => !csvColumns.includes(name))).toEqual([]);
});

test("text that lists nothing gives nothing", () => {
  expect(parseHelpFields("").size).toBe(0);
  expect(parseHelpFields('Invalid combination of input arguments.\n"a b"\n').size).toBe(0);
});

describe("captures from ../shared/captures/public", () => {
  test.for([
    ["ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt", 243],
    ["ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt", 253],
    ["ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt", 280],
  ] as const)("%s knows %i names", ([name, count], context) => {
    const text = publicSection(name, "capabilities :: help-query-gpu");
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const names = parseHelpFields(text);
    expect(names.size).toBe(count);
    expect(basicColumns.filter((column) => !names.has(column))).toEqual([]);
  });
});
