/**
 * `nvidia-smi --query-compute-apps=… --format=csv` to processes by their GPU's UUID. Pure, and never throws. Programs that only
 * draw are not in it. A name may hold commas, so what stands after it is counted from the end:
 *
 *     pid, process_name, gpu_uuid, used_gpu_memory [MiB]
 *     507, python3, GPU-11111111-2222-3333-4444-555555555555, 1130 MiB
 */
import { programName, type SmiProcess } from "./gpu.ts";
import { readCell } from "./value.ts";

const mostRows = 65_536;

/** Undefined where the text is no such list: nobody knows then who is on a GPU. */
export function parseComputeApps(text: string): Map<string, SmiProcess[]> | undefined {
  const [header = "", ...lines] = text.split(/\r?\n/, mostRows);
  const names = cells(header).map((name) => name.replace(/\[[^[\]]*\]$/, "").trimEnd());
  const [pidAt, uuidAt, nameAt] = [
    names.indexOf("pid"),
    names.indexOf("gpu_uuid"),
    names.findIndex((name) => name === "process_name" || name === "name"),
  ];
  const memoryAt = names.findIndex((name) => name === "used_gpu_memory" || name === "used_memory");
  if (pidAt === -1 || uuidAt === -1) return undefined;
  const found = new Map<string, SmiProcess[]>();
  for (const line of lines) {
    const row = cells(line);
    const surplus = nameAt === -1 ? 0 : row.length - names.length;
    const told = (at: number): string =>
      at === -1 ? "" : (row[nameAt !== -1 && at > nameAt ? at + surplus : at] ?? "");
    const pid = readCell(told(pidAt), "count");
    const uuid = told(uuidAt);
    if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1 || uuid === "") continue;
    const memory = readCell(told(memoryAt), "bytes");
    const memoryBytes = typeof memory === "number" ? memory : Number.NaN;
    const name = programName(nameAt === -1 ? undefined : nameIn(row, nameAt, surplus));
    const one: SmiProcess = {
      pid,
      kind: "compute",
      memoryBytes,
      ...(name === undefined ? {} : { name }),
    };
    const known = found.get(uuid);
    if (known === undefined) found.set(uuid, [one]);
    else known.push(one);
  }
  return found;
}

/** A name with commas takes up more cells than its column. */
function nameIn(row: readonly string[], at: number, surplus: number): string {
  return row.slice(at, at + 1 + Math.max(0, surplus)).join(", ");
}

function cells(line: string): string[] {
  return line.split(",", 1_024).map((cell) => cell.trim());
}
