/** Formats the values of a change, in sentences and in the terminal. */

const sizes: Readonly<Record<string, readonly (readonly [divisor: number, unit: string])[]>> = {
  ratio: [[0.01, " %"]],
  celsius: [[1, " °C"]],
  watts: [[1, " W"]],
  volts: [[1, " V"]],
  rpm: [[1, " rpm"]],
  hertz: [[1e6, " MHz"]],
  bytes: [
    [2 ** 30, " GiB"],
    [2 ** 20, " MiB"],
    [1, " B"],
  ],
  bytes_per_second: [
    [1e9, " GB/s"],
    [1e6, " MB/s"],
    [1e3, " kB/s"],
    [1, " B/s"],
  ],
  seconds: [[1, " s"]],
};

/** Formats with three significant digits, or `-` without a value. */
export function formatChangeValue(value: number | null, unit: string): string {
  if (value === null) return "-";
  const all = sizes[unit] ?? [[1, ""]];
  const [divisor, suffix] =
    all.find(([size]) => Math.abs(value) >= size) ?? all.at(-1) ?? ([1, ""] as const);
  const scaled = value / divisor;
  const digits =
    Math.abs(scaled) >= 100 || Number.isInteger(scaled) ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${Number(scaled.toFixed(digits))}${suffix}`;
}
