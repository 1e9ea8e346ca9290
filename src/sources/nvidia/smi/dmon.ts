/**
 * `nvidia-smi dmon -c 1 -s pumt` to what `--query-gpu` has no column for, or only since lately. Its form is in `monitor.ts`. Pure, and
 * never throws. `pviol` and `tviol` are left out, as they count since the row before and the first row says 0 on a card at its
 * limit; so is `pci`, which no capture shows to be a total.
 *
 *     # gpu  mtemp    enc    dec   bar1  rxpci  txpci
 *     # Idx      C      %      %     MB   MB/s   MB/s
 *         0     46      0      0   1140     15      6
 */
import type { SmiReading } from "./gpu.ts";
import { parseMonitor } from "./monitor.ts";
import { type CellKind, readCell } from "./value.ts";

interface Column extends Omit<SmiReading, "cell"> {
  readonly name: string;
  readonly as: CellKind;
  readonly unit?: string;
}

const columns: readonly Column[] = [
  { name: "mtemp", metric: "temperature", labels: { sensor: "memory" }, as: "celsius" },
  { name: "enc", metric: "encoderUtilization", as: "ratio" },
  { name: "dec", metric: "decoderUtilization", as: "ratio" },
  // Its MB are MiB: the same card says 1140 MiB with -q.
  { name: "bar1", metric: "visibleMemoryUsed", as: "bytes", unit: "MiB" },
  {
    name: "rxpci",
    metric: "pcieThroughput",
    labels: { direction: "receive" },
    as: "rate",
    unit: "MB/s",
  },
  {
    name: "txpci",
    metric: "pcieThroughput",
    labels: { direction: "transmit" },
    as: "rate",
    unit: "MB/s",
  },
];

/** By the GPU's index; what it does not tell is not in it. */
export function parseDmon(text: string): Map<number, SmiReading[]> {
  return new Map(
    parseMonitor(text).map(({ gpu, told }) => [
      gpu,
      columns.flatMap(({ name, metric, labels, as, unit = "" }): SmiReading[] => {
        const found = told(name);
        if (found === undefined) return [];
        const cell = readCell(`${found} ${unit}`, as);
        return [labels === undefined ? { metric, cell } : { metric, labels, cell }];
      }),
    ]),
  );
}
