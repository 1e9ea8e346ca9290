/**
 * The header line: `        Date        , GPU Clock [MHz] , … , System Memory Used [MB] ,`, padded, with a comma at its
 * end. It repeats wherever logging was restarted, possibly with other columns.
 */

export interface GpuzColumn {
  /** The name without the unit: `GPU Temperature (Hot Spot)`. */
  readonly name: string;
  /** The text in the last brackets; empty for `PerfCap Reason []`. */
  readonly unit: string;
  /** 1, or higher if the same name and unit appeared before: AMD logs have `UVD Clock [MHz]` twice. */
  readonly occurrence: number;
}

export interface GpuzHeader {
  /** Identifies the header: layouts are built once per text. */
  readonly text: string;
  /** Without the date. */
  readonly columns: readonly GpuzColumn[];
  /** Number of cells of a complete row, including the date and the empty cell after the last comma. */
  readonly cells: number;
}

/** GPU-Z shows some fifty sensors; a line with more cells than this is not a header. */
const mostColumns = 512;

export function isHeader(line: string): boolean {
  const comma = line.indexOf(",");
  return comma !== -1 && line.slice(0, comma).trim() === "Date";
}

export function parseHeader(line: string): GpuzHeader | undefined {
  const cells = line.split(",");
  if (cells[0]?.trim() !== "Date" || cells.length > mostColumns) return undefined;
  const names = cells.slice(1).map((cell) => degrees(cell.trim().replace(/\s+/g, " ")));
  if (names.at(-1) === "") names.pop();
  if (names.length === 0) return undefined;
  const seen = new Map<string, number>();
  const columns = names.map((text): GpuzColumn => {
    const occurrence = (seen.get(text) ?? 0) + 1;
    seen.set(text, occurrence);
    const bracket = text.endsWith("]") ? text.lastIndexOf("[") : -1;
    return bracket === -1
      ? { name: text, unit: "", occurrence }
      : {
          name: text.slice(0, bracket).trim(),
          unit: text.slice(bracket + 1, -1).trim(),
          occurrence,
        };
  });
  return { text: cells.map((cell) => cell.trim()).join(","), columns, cells: cells.length };
}

/** The degree sign is one byte; a file saved again as UTF-8 has two or three, depending on the program. */
function degrees(text: string): string {
  return text.replace(/\[[^\]\x20-\x7e]{1,3}([CF])\]$/, "[\u00b0$1]");
}
