import { describe, expect, test } from "vitest";
import { noCaptures } from "../../../../test/captures/public.ts";
import { ownCapture, publicSection } from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { parsePmon } from "./pmon.ts";

test("pmon under load gives the one process its share", () => {
  expect(parsePmon(ownCapture("load.pmon.txt"))).toEqual(new Map([["0/507", 0.98]]));
});

test.for(["idle", "after"])("pmon gives nobody a share %s", (phase) => {
  expect(parsePmon(ownCapture(`${phase}.pmon.txt`))).toEqual(new Map());
});

test("text that is no table gives nothing", () => {
  for (const text of ["", "Not supported on the device(s)", "0 1 2", "# gpu\n"]) {
    expect(parsePmon(text)).toEqual(new Map());
  }
});

describe("captures from ../shared/captures/public", () => {
  const ada = "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt";
  const hopper = "ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt";
  const turing = "ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt";

  /** The last share in five samples. */
  test.skipIf(noCaptures).for([
    [ada, "idle", {}],
    [ada, "load", { "0/5021": 0.02, "0/5022": 0.03 }],
    [hopper, "idle", {}],
    [hopper, "load", {}],
    [turing, "idle", {}],
    [turing, "load", { "0/12940": 0.03, "0/13820": 0.03 }],
  ] as const)("pmon: %s, %s", ([name, phase, wanted]) => {
    const text = publicSection(name, `${phase} :: pmon`);
    expect(Object.fromEntries(parsePmon(text))).toEqual(wanted);
  });
});
