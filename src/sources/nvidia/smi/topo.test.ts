import { describe, expect, test } from "vitest";
import { noCaptures } from "../../../../test/captures/public.ts";
import { ownCapture, publicSection } from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { parseTopo, peerCell } from "./topo.ts";

const alone = new Map([[0, new Map([[0, "X"]])]]);

test.for(["topo-p2p.txt", "topo-m.txt"])("%s is one GPU by itself", (name) => {
  expect(parseTopo(ownCapture(name))).toEqual(alone);
});

test("a matrix is read by its heads, others than GPUs left out", () => {
  const text =
    "\t\u001B[4mGPU0\tGPU1\tNIC0\tCPU Affinity\u001B[0m\n" +
    "GPU0\t X \tOK\tPIX\t0-15\nGPU1\tTNS\t X \tSYS\t0-15\nNIC0\tPIX\tSYS\t X \t\n\nLegend:\n";
  expect(parseTopo(text)).toEqual(
    new Map([
      [
        0,
        new Map([
          [0, "X"],
          [1, "OK"],
        ]),
      ],
      [
        1,
        new Map([
          [0, "TNS"],
          [1, "X"],
        ]),
      ],
    ]),
  );
});

test.for([
  ["OK", 1],
  ["CNS", 0],
  ["GNS", 0],
  ["TNS", 0],
  ["NS", 0],
  ["U", "failed"],
  ["new", "failed"],
  [undefined, "failed"],
] as const)("%s means %s", ([cell, wanted]) => {
  expect(peerCell(cell)).toBe(wanted);
});

test("text that is no matrix gives none", () => {
  for (const text of ["", "GPU0\tX", "Failed to initialize NVML", "\t\t\n"])
    expect(parseTopo(text)).toEqual(new Map());
});

describe("captures from ../shared/captures/public", () => {
  test
    .skipIf(noCaptures)
    .for([
      "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt",
      "ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt",
      "ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt",
    ])("topo -m of %s", (name) => {
    const text = publicSection(name, "capabilities :: topo -m");
    expect(parseTopo(text)).toEqual(alone);
  });
});
