/**
 * Parses `nvidia-smi topo -p2p r` (or `w`) into which GPU can access which other's memory. `topo -m` has the same format and parses too;
 * it is not run, as no metric describes how two GPUs are wired. Pure, and never throws. Cells are separated by tabs, the header is
 * underlined, a legend follows:
 *
 *     	GPU0	GPU1
 *     GPU0	X	OK
 *     GPU1	OK	X
 */
import type { SmiCell } from "./value.ts";

/** Row and column by the GPU's index. */
export type TopoMatrix = ReadonlyMap<number, ReadonlyMap<number, string>>;

const mostLines = 4_096;

export function parseTopo(text: string): TopoMatrix {
  const matrix = new Map<number, Map<number, string>>();
  let columns: readonly (number | undefined)[] = [];
  for (const line of text.split("\n", mostLines)) {
    const cells = line.split("\t").map((cell) => plain(cell));
    const row = gpuIndex(cells[0]);
    if (row !== undefined && columns.length > 0) {
      const found = columns.flatMap((column, at) => {
        const cell = cells[at];
        return column === undefined || !cell ? [] : [[column, cell] as const];
      });
      matrix.set(row, new Map(found));
    } else if (cells[0] === "" && cells.some((cell) => gpuIndex(cell) !== undefined))
      columns = cells.map(gpuIndex);
  }
  return matrix;
}

/** Parses a cell of the peer matrix; `U` is unknown, and an unlisted value is treated the same. */
export function peerCell(cell: string | undefined): SmiCell {
  if (cell === "OK") return 1;
  return ["CNS", "GNS", "TNS", "NS", "DR"].includes(cell ?? "") ? 0 : "failed";
}

/** Removes the underline escape codes, which are written to files too. */
function plain(cell: string): string {
  return cell.replace("\u001B[4m", "").replace("\u001B[0m", "").trim();
}

function gpuIndex(cell: string | undefined): number | undefined {
  const digits = /^GPU(\d{1,4})$/.exec(cell ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}
