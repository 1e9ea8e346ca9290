/**
 * The table that `nvidia-smi dmon` and `pmon` write: names and units in two lines, repeated every so often, then a row a GPU or
 * process, `-` where there is nothing. Pure, and never throws.
 *
 *     # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
 *     # Idx           #    C/G      %      %      %      %      %      %    name
 *         0        507     C     98     24      -      -      -      -    python3
 */
export interface MonitorRow {
  readonly gpu: number;
  /** The cell under a name; undefined where there is no such column or nothing in it. */
  readonly told: (name: string) => string | undefined;
}

const mostLines = 65_536;

export function parseMonitor(text: string): MonitorRow[] {
  const rows: MonitorRow[] = [];
  let names: readonly string[] = [];
  for (const line of text.split("\n", mostLines)) {
    const cells = line.trim().split(/\s+/);
    if (cells[0] === "#") {
      if (cells[1] === "gpu") names = cells.slice(1);
      continue;
    }
    const gpu = /^\d{1,4}$/.test(cells[0] ?? "") ? Number(cells[0]) : undefined;
    if (gpu === undefined || cells.length < names.length) continue;
    const columns = names;
    const told = (name: string): string | undefined => {
      const at = columns.indexOf(name);
      return at === -1 || cells[at] === "-" ? undefined : cells[at];
    };
    rows.push({ gpu, told });
  }
  return rows;
}
