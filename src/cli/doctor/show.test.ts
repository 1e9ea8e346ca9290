import { expect, test } from "vitest";
import type { DoctorReport } from "./run.ts";
import { type DoctorView, formatDoctor, formatReading } from "./show.ts";

const gpu = (index: number): DoctorReport["gpus"][number] => ({
  uuid: `GPU-${index}`,
  index,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  driver: "580.00.01",
  pciBusId: `0000:1${index}:00.0`,
  source: "nvidia",
});

const nvidia = { source: "nvidia", summary: "", auto: true } as const;
const s3 = {
  source: "s3",
  summary: "",
  auto: false,
  state: "not-found",
  says: "Name a bucket.",
} as const;
const sim = {
  source: "sim",
  summary: "",
  auto: false,
  state: "found",
  says: "Will simulate.",
} as const;

const found: DoctorReport = {
  version: "1.2.3",
  node: "v20.19.0",
  gpus: [gpu(0), gpu(1)],
  sources: [
    { ...nvidia, state: "found", says: "2 × NVIDIA H200 through libnvidia-ml.so.1." },
    sim,
    s3,
  ],
  metrics: [
    { metric: "gpu_power_watts", unit: "watts", told: 1, example: 80.25, absent: { asleep: 1 } },
    { metric: 'gpu_clock_hertz{domain="sm"}', unit: "hertz", told: 2, example: 1.98e9, absent: {} },
    { metric: "gpu_temperature_celsius", unit: "celsius", told: 0, absent: { denied: 2 } },
  ],
  kernelLog: { state: "found", says: "/dev/kmsg can be read." },
  ports: [{ port: 9400, purpose: "gpulse agent", state: "free" }],
};

const view: DoctorView = { columns: undefined, colour: false, all: false, named: false };

test("the GPUs come first, then problems with a fix, then the metrics", () => {
  const text = formatDoctor(found, view);
  const order = [
    "2 GPUs",
    "GPU  NAME",
    "Problems",
    "readings denied",
    "Fix: Run as root",
    "METRIC",
    "kernel log",
  ];
  const places = order.map((part) => text.indexOf(part));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places).not.toContain(-1);
  expect(text).toMatch(/^0 {4}NVIDIA H200 {2}580\.00\.01 {2}0000:10:00\.0 {2}nvidia$/m);
  expect(text).toMatch(/^METRIC +VALUE +GPUS +STATUS$/m);
  expect(text).toMatch(/^gpu_power_watts +80\.25 W +1\/2 +1 asleep$/m);
  expect(text).toMatch(/^gpu_clock_hertz\{domain="sm"\} +1980 MHz +2 +ok$/m);
  expect(text).toMatch(/^gpu_temperature_celsius +- +0\/2 +denied$/m);
});

test("sources that need an address are shown with --all only", () => {
  expect(formatDoctor(found, view)).not.toContain("s3");
  expect(formatDoctor(found, { ...view, all: true })).toContain("s3: Name a bucket.");
});

test("a machine without a GPU gets the reason of each vendor and a fix", () => {
  const missing = { ...nvidia, state: "not-found", says: "No NVIDIA driver here." } as const;
  const text = formatDoctor({ ...found, gpus: [], metrics: [], sources: [missing, s3] }, view);
  expect(text).toContain("1.2.3 on Node v20.19.0: no GPU\n\nNo GPU can be read here.");
  expect(text).toContain("nvidia not found: No NVIDIA driver here.");
  expect(text).toContain("Fix: If this machine has a GPU, install its driver.");
});

test("more than eight GPUs of one kind share a line", () => {
  const text = formatDoctor(
    { ...found, gpus: Array.from({ length: 64 }, (_, at) => gpu(at)) },
    view,
  );
  expect(text).toMatch(/^0-63 {2}NVIDIA H200 {2}580\.00\.01 {2}64 GPUs {2}nvidia$/m);
});

test.for([40, 60, 80, 200])("nothing is wider than %d columns", (columns) => {
  const metric = 'gpu_pcie_throughput_bytes_per_second{direction="transmit"}';
  const wide = { metric, unit: "bytes_per_second", told: 2, example: 12_184_224, absent: {} };
  const report = { ...found, metrics: [...found.metrics, wide] };
  const lines = formatDoctor(report, { ...view, columns, all: true }).split("\n");
  expect(lines.filter((line) => line.length > columns && line.includes(" ", 6))).toEqual([]);
  const shown = lines.find((line) => line.startsWith("gpu_pcie"));
  if (columns === 200) expect(shown).toContain(metric);
  else expect(shown).toMatch(columns === 80 ? /\{transmit\}|transmit/ : /…/);
});

test.for([
  [0.5, "ratio", "50 %"],
  [150_754_820_096, "bytes", "140.4 GiB"],
  [2_097_152, "bytes", "2.1 MB"],
  [12_184_224, "bytes_per_second", "12.2 MB/s"],
  [1.98e9, "hertz", "1980 MHz"],
  [449.163, "watts", "449.2 W"],
  [42, "celsius", "42 °C"],
  [7, "none", "7"],
] as const)("%d in %s reads %s", ([value, unit, text]) =>
  expect(formatReading(value, unit)).toBe(text),
);
