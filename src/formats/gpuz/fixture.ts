/** Logs as GPU-Z writes them, for tests: padded cells, a comma at the end of each line, CRLF, ° as the single byte 0xB0. */

export interface GpuzLogOptions {
  readonly lineEnd?: string;
}

/** Text to the bytes GPU-Z would write. */
export const gpuzBytes = (text: string): Buffer => Buffer.from(text, "latin1");

export function headerLine(
  columns: readonly string[],
  { lineEnd = "\r\n" }: GpuzLogOptions = {},
): string {
  return `        Date        , ${columns.map((column) => `${column} ,`).join(" ")}${lineEnd}`;
}

export function rowLine(
  date: string,
  cells: readonly (string | number)[],
  { lineEnd = "\r\n" }: GpuzLogOptions = {},
): string {
  return `${date} ,${cells.map((cell) => `${String(cell).padStart(14)}   ,`).join("")}${lineEnd}`;
}

/** A GeForce of the 8-pin years: every power column, two fans, and a PerfCap mask. */
export const geforceColumns = [
  "GPU Clock [MHz]",
  "Memory Clock [MHz]",
  "GPU Temperature [\u00b0C]",
  "Hot Spot [\u00b0C]",
  "Memory Temperature [\u00b0C]",
  "Fan 1 Speed (%) [%]",
  "Fan 1 Speed (RPM) [RPM]",
  "Fan 2 Speed (%) [%]",
  "Fan 2 Speed (RPM) [RPM]",
  "Memory Used [MB]",
  "GPU Load [%]",
  "Memory Controller Load [%]",
  "Video Engine Load [%]",
  "Bus Interface Load [%]",
  "Board Power Draw [W]",
  "GPU Chip Power Draw [W]",
  "MVDDC Power Draw [W]",
  "PWR_SRC Power Draw [W]",
  "PWR_SRC Voltage [V]",
  "PCIe Slot Power [W]",
  "PCIe Slot Voltage [V]",
  "8-Pin #1 Power [W]",
  "8-Pin #1 Voltage [V]",
  "8-Pin #2 Power [W]",
  "8-Pin #2 Voltage [V]",
  "Power Consumption (%) [% TDP]",
  "PerfCap Reason []",
  "GPU Voltage [V]",
  "CPU Temperature [\u00b0C]",
  "System Memory Used [MB]",
] as const;

export const geforceCells = [
  1785.5,
  1187.7,
  48.7,
  64.1,
  58,
  30,
  1021,
  31,
  1040,
  3543,
  97,
  41,
  3,
  12,
  314.3,
  128.2,
  59.5,
  269.2,
  12.1,
  24.5,
  12.2,
  141.1,
  "12.0",
  148.7,
  12.1,
  98.2,
  5,
  "0.9187",
  67.5,
  17888,
] as const;

/** A Radeon: the video clock twice, memory in two pools, chip power only, VRM sensors the board lacks. */
export const radeonColumns = [
  "GPU Clock [MHz]",
  "Memory Clock [MHz]",
  "UVD Clock [MHz]",
  "UVD Clock [MHz]",
  "GPU Temperature [\u00b0C]",
  "GPU Temperature (Hot Spot) [\u00b0C]",
  "Memory Temperature [\u00b0C]",
  "GPU VRM Temperature [\u00b0C]",
  "Mem1 VRM Temperature [\u00b0C]",
  "Fan Speed (%) [%]",
  "Fan Speed (RPM) [RPM]",
  "GPU Load [%]",
  "Memory Used (Dedicated) [MB]",
  "Memory Used (Dynamic) [MB]",
  "GPU Chip Power Draw [W]",
  "GPU Voltage [V]",
] as const;

export const radeonCells = [
  789,
  "200.0",
  105,
  102,
  50,
  51,
  52,
  47,
  "0.0",
  0,
  0,
  1,
  534,
  57,
  8,
  0.725,
] as const;

/** An integrated Intel GPU: few sensors, and some that come and go. */
export const intelColumns = [
  "GPU Clock [MHz]",
  "GPU Temperature [\u00b0C]",
  "GPU Power [W]",
  "GPU Load [%]",
  "GPU Voltage [V]",
  "Memory Used (Dedicated) [MB]",
  "Render Standby State [x]",
] as const;
