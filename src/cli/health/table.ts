/** Formats the verdicts as a table: reasons with their values, and checks that were not possible. */
import { actionWords } from "../../view/health/verdict.ts";
import type { GpuHealthReport, HealthReport, HostHealthReport } from "../../view/health/report.ts";
import { countOf } from "../command/quantity.ts";
import { alignColumns } from "../table.ts";

export function healthTable({ hosts }: HealthReport): string {
  return hosts.map(hostTable).join("\n");
}

function hostTable(host: HostHealthReport): string {
  const heading = ["GPU", "STATUS", "REASON", "ACTION"];
  const rows = host.gpus.flatMap((gpu) => verdictRows(`${gpu.gpu} ${gpu.model}`, gpu));
  const own =
    host.reasons.length > 0 || host.state !== "unknown" ? verdictRows("machine", host) : [];
  const simulated = host.gpus.some((gpu) => gpu.simulated) ? " (simulated)" : "";
  const top = `${host.host}: ${countOf(host.gpus.length, "GPU")}${simulated}, ${host.worst}\n`;
  return `${top}\n${alignColumns([heading, ...rows, ...own])}${uncheckedLines(host)}`;
}

type VerdictReport = Pick<GpuHealthReport, "state" | "reasons" | "unchecked">;

function verdictRows(name: string, { state, reasons, unchecked }: VerdictReport): string[][] {
  const [first, ...others] = reasons;
  if (first === undefined) {
    const why = state === "unknown" ? (unchecked[0]?.why ?? "nothing is reported") : "-";
    return [[name, state, why, "-"]];
  }
  return [
    [name, state, noted(first), actionWords[first.action]],
    ...others.map((reason) => ["", "", noted(reason), actionWords[reason.action]]),
  ];
}

const noted = ({ state, text }: GpuHealthReport["reasons"][number]): string =>
  state === "healthy" ? `note: ${text}` : text;

/** GPUs with the same gap share a line. */
function uncheckedLines(host: HostHealthReport): string {
  const gaps = new Map<string, string[]>();
  const add = (name: string, { unchecked }: VerdictReport): void => {
    for (const { check, why } of unchecked) {
      const line = `${check} (${why})`;
      gaps.set(line, [...(gaps.get(line) ?? []), name]);
    }
  };
  for (const gpu of host.gpus) add(String(gpu.gpu), gpu);
  add("machine", host);
  if (gaps.size === 0) return "";
  const lines = [...gaps].map(([line, names]) => `  ${line}: ${whose(names)}\n`);
  return `\nNot checked:\n${lines.join("")}`;
}

const whose = (names: readonly string[]): string =>
  names[0] === "machine" ? "the machine" : `GPU ${names.join(", ")}`;
