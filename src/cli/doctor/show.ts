/** Formats the report of `gpulse doctor`: GPUs, problems with fixes, metrics. Lines fit the terminal. Pure. */
import type { Device } from "../../model/device.ts";
import { countOf, formatBytes } from "../command/quantity.ts";
import { alignColumns } from "../table.ts";
import type { MetricFinding } from "./metrics.ts";
import type { DoctorReport, SourceFinding } from "./run.ts";

export interface DoctorView {
  /** Undefined if the output is not a terminal: lines are not wrapped. */
  readonly columns: number | undefined;
  readonly colour: boolean;
  /** True to include sources that need an address, and those that are not selected automatically. */
  readonly all: boolean;
  /** True if `--source` names the sources. */
  readonly named: boolean;
}

const red = "\u001b[31m";
const bold = "\u001b[1m";
const off = "\u001b[0m";

export function formatDoctor(report: DoctorReport, view: DoctorView): string {
  const gpus = report.gpus.filter(({ parent }) => parent === undefined).length;
  const lines = [
    `gpulse ${report.version} on Node ${report.node}: ${gpus === 0 ? "no GPU" : countOf(gpus, "GPU")}`,
    "",
    ...gpuLines(report, view),
  ];
  const problems = problemsOf(report, view);
  if (problems.length > 0) {
    lines.push("", heading("Problems", view));
    for (const { title, says, fix } of problems) {
      lines.push(...wrap(`${paint(title, red, view)}: ${says}`, view, "  ", "    "));
      if (fix !== undefined) lines.push(...wrap(`Fix: ${fix}`, view, "    ", "    "));
    }
  }
  if (report.metrics.length > 0)
    lines.push("", heading("Metrics", view), ...metricLines(report.metrics, view));
  const others = otherLines(report, view);
  if (others.length > 0) lines.push("", heading("Other sources", view), ...others);
  return `${[...lines, "", ...systemLines(report, view)].join("\n")}\n`;
}

/** Above this number, GPUs of the same kind share a line. */
const mostLines = 8;

function gpuLines({ gpus, sources }: DoctorReport, view: DoctorView): string[] {
  if (gpus.length === 0)
    return wrap("No GPU can be read here. gpulse up shows a simulated fleet instead.", view);
  const nameOf = (gpu: Device): string =>
    `${gpu.parent === undefined ? "" : "MIG "}${gpu.model}${gpu.simulated ? " (simulated)" : ""}`;
  const groups = new Map<string, DoctorReport["gpus"][number][]>();
  for (const gpu of gpus) {
    const kind = [nameOf(gpu), gpu.driver, gpu.source].join("\u0000");
    const key = gpus.length > mostLines ? kind : `${kind}\u0000${gpu.uuid}`;
    groups.set(key, [...(groups.get(key) ?? []), gpu]);
  }
  const rows = [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const indexes = [first, ...others].map(({ index }) => index);
    return [
      [
        others.length === 0
          ? String(first.index)
          : `${Math.min(...indexes)}-${Math.max(...indexes)}`,
        nameOf(first),
        first.driver ?? "-",
        others.length === 0 ? (first.pciBusId ?? "-") : countOf(indexes.length, "GPU"),
        first.source,
      ],
    ];
  });
  const table = fit([["GPU", "NAME", "DRIVER", "PCI", "SOURCE"], ...rows], 1, view);
  const read = sources
    .filter(({ source, state }) => state === "found" && gpus.some((gpu) => gpu.source === source))
    .flatMap(({ source, says }) => wrap(`${source}: ${says}`, view, "", "  "));
  return [...table, ...read];
}

interface DoctorProblem {
  readonly title: string;
  readonly says: string;
  readonly fix?: string | undefined;
}

const noGpuFix: DoctorProblem = {
  title: "no GPU",
  says: "no source found one.",
  fix: "If this machine has a GPU, install its driver. In a container, pass the GPU through: --gpus all (NVIDIA) or --device /dev/dri (AMD, Intel).",
};

/** A missing source is only a problem if there is no GPU at all, or if it was named. */
function problemsOf(report: DoctorReport, { named }: DoctorView): DoctorProblem[] {
  const sources = report.sources.flatMap(({ source, state, says, fix, auto }): DoctorProblem[] => {
    const isMissing = state === "not-found" && (named || (auto && report.gpus.length === 0));
    if (state !== "denied" && state !== "failed" && !isMissing) return [];
    return [{ title: `${source} ${state.replace("-", " ")}`, says, fix }];
  });
  if (!named && report.gpus.length === 0) sources.push(noGpuFix);
  const denied = report.metrics.filter(({ absent }) => (absent["denied"] ?? 0) > 0);
  if (denied.length === 0) return sources;
  const names = denied.slice(0, 3).map(({ metric }) => metric);
  const more = denied.length - names.length;
  return [
    ...sources,
    {
      title: "readings denied",
      says: `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
      fix: "Run as root or with the capability that the driver requires; see docs/guides/troubleshooting.md#denied.",
    },
  ];
}

/** Sources that are neither read nor a problem. */
function otherLines({ sources }: DoctorReport, view: DoctorView): string[] {
  if (view.named) return [];
  if (view.all)
    return sources
      .filter(({ auto, state }) => !auto && (state === "found" || state === "not-found"))
      .flatMap(({ source, says }: SourceFinding) => wrap(`${source}: ${says}`, view, "  ", "    "));
  const found = sources.filter(({ auto, state }) => !auto && state === "found");
  const names = found.map(({ source }) => source).join(" and ");
  return wrap(
    `Pass --source to use ${names}. Sources that need an address: gpulse doctor --all.`,
    view,
    "  ",
    "  ",
  );
}

function systemLines({ kernelLog, ports }: DoctorReport, view: DoctorView): string[] {
  const { says, fix } = kernelLog;
  const kernel = `kernel log (gpulse agent --kernel-log): ${says}${fix === undefined ? "" : ` ${fix}`}`;
  return [
    ...wrap(kernel, view, "", "  "),
    ...ports.map(({ port, purpose, state }) => `port ${port} (${purpose}): ${state}`),
  ];
}

function metricLines(metrics: readonly MetricFinding[], view: DoctorView): string[] {
  const rows = metrics.map(({ metric, unit, told, example, absent }) => {
    const total = told + Object.values(absent).reduce((sum, count) => sum + count, 0);
    return [
      metric,
      example === undefined ? "-" : formatReading(example, unit),
      told === total ? String(told) : `${told}/${total}`,
      statusOf(absent, total),
    ];
  });
  return fit([["METRIC", "VALUE", "GPUS", "STATUS"], ...rows], 0, view, shortenLabels);
}

/** `ok`; `denied` if all GPUs are denied; `2 asleep` if two of them are. */
function statusOf(absent: MetricFinding["absent"], total: number): string {
  const reasons = Object.entries(absent);
  if (reasons.length === 0) return "ok";
  return reasons
    .map(([reason, count]) => (count === total ? reason : `${count} ${reason}`))
    .join(", ");
}

/** Shortens `gpu_clock_hertz{domain="sm"}` to `gpu_clock_hertz{sm}`. */
const shortenLabels = (metric: string): string => metric.replaceAll(/\w+="([^"]*)"/g, "$1");

/** A number with its unit, rounded to four digits. */
export function formatReading(value: number, unit: string): string {
  const rounded = (number: number): string => String(Number(number.toPrecision(4)));
  switch (unit) {
    case "none":
      return rounded(value);
    case "ratio":
      return `${rounded(value * 100)} %`;
    case "bytes":
      return value < 2 ** 30 ? formatBytes(value) : `${(value / 2 ** 30).toFixed(1)} GiB`;
    case "bytes_per_second":
      return `${formatBytes(value)}/s`;
    case "hertz":
      return `${rounded(value / 1e6)} MHz`;
    default:
      return `${rounded(value)} ${symbols[unit] ?? unit}`;
  }
}

const symbols: Readonly<Record<string, string>> = {
  celsius: "°C",
  watts: "W",
  joules: "J",
  seconds: "s",
  volts: "V",
  amperes: "A",
};

/** Aligns a table and shortens the column `flexible` if the terminal is too narrow. */
function fit(
  rows: readonly (readonly string[])[],
  flexible: number,
  { columns, colour }: DoctorView,
  shorten: (cell: string) => string = (cell) => cell,
): string[] {
  const widthOf = (column: number): number =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const others = (rows[0] ?? []).map((_, column) =>
    column === flexible ? 0 : widthOf(column) + 2,
  );
  const room = (columns ?? Infinity) - others.reduce((sum, width) => sum + width, 0);
  const cells = rows.map((row) =>
    row.map((cell, column) =>
      column === flexible ? cut(cell, Math.max(12, room), shorten) : cell,
    ),
  );
  const lines = alignColumns(cells).trimEnd().split("\n");
  return lines.map((line, index) => {
    const shown = line.slice(0, columns);
    return index === 0 && colour ? `${bold}${shown}${off}` : shown;
  });
}

function cut(cell: string, room: number, shorten: (cell: string) => string): string {
  if (cell.length <= room) return cell;
  const short = shorten(cell);
  return short.length <= room ? short : `${short.slice(0, room - 1)}…`;
}

const heading = (text: string, { colour }: DoctorView): string =>
  colour ? `${bold}${text}${off}` : text;

const paint = (text: string, start: string, { colour }: DoctorView): string =>
  colour ? `${start}${text}${off}` : text;

/** Wraps at blanks; a word wider than the line, such as a path, stays whole. */
function wrap(text: string, { columns }: DoctorView, first = "", next = ""): string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(" ")) {
    const isStart = line === first || line === next;
    const longer = isStart ? `${line}${word}` : `${line} ${word}`;
    if (!isStart && visibleLength(longer) > (columns ?? Infinity)) {
      lines.push(line);
      line = `${next}${word}`;
    } else line = longer;
  }
  return [...lines, line];
}

/** The length without colour codes. */
const visibleLength = (text: string): number => text.replaceAll(red, "").replaceAll(off, "").length;
