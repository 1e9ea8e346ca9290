/** Runs `gpulse doctor`. */
import { createServer } from "node:net";
import { sourceContext } from "../../agent/run.ts";
import { type CommandIo, commandLog, usesColour } from "../command/io.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { checkValue } from "../../config/check.ts";
import { formatError, systemCode } from "../../base/error.ts";
import { checkAccess, type KernelLogAccess } from "../../machine/kernel-log/reader.ts";
import { viewDevices } from "../../sinks/latest/devices.ts";
import { sources } from "../../sources/list.ts";
import { parseSource } from "../../sources/open.ts";
import type { DoctorFinding } from "../../sources/source.ts";
import { alignColumns } from "../table.ts";
import { type MetricFinding, metricFindings } from "./metrics.ts";
import { readBriefly } from "./read.ts";

export interface DoctorFlags extends FlagValues {
  readonly json?: boolean;
  readonly capture?: string;
}

interface SourceFinding extends DoctorFinding {
  readonly source: string;
  readonly summary: string;
  /** Whether `auto` would use it. */
  readonly auto: boolean;
}

export interface DoctorReport {
  readonly version: string;
  readonly node: string;
  readonly sources: readonly SourceFinding[];
  /** The values of the sources that were found, by metric. */
  readonly metrics: readonly MetricFinding[];
  /** Whether `gpulse agent --kernel-log` would find something to read. */
  readonly kernelLog: KernelLogAccess;
  readonly ports: readonly {
    readonly port: number;
    readonly purpose: string;
    readonly state: string;
  }[];
}

export async function runDoctor(flags: DoctorFlags, io: CommandIo): Promise<number> {
  const settings = await resolveSettings("agent", { logLevel: "error", ...flags }, io.env);
  const context = sourceContext(settings, commandLog(io, settings.logLevel, false));
  const asked = settings.sources.filter((spec) => spec !== "auto");
  const runnable = sources.filter(({ options }) => checkValue(options, {}).ok);
  const specs = asked.length > 0 ? asked : runnable.map(({ name }) => `${name}:`);
  if (flags.capture !== undefined) {
    const { writeCapture } = await import("../capture/capture.ts");
    const chosen =
      asked.length > 0 ? asked : sources.flatMap(({ auto, name }) => (auto ? [`${name}:`] : []));
    io.stdout.write(
      `${await writeCapture(flags.capture, { ...settings, sources: chosen }, io, context.log)}\n`,
    );
    return 0;
  }
  const findings: SourceFinding[] = [];
  for (const { definition, options } of specs.map(parseSource)) {
    const finding = await definition
      .doctor(options, context)
      .catch((thrown: unknown): DoctorFinding => ({ state: "failed", says: formatError(thrown) }));
    findings.push({
      source: definition.name,
      summary: definition.summary,
      auto: definition.auto,
      ...finding,
    });
  }
  const readable = findings.flatMap(({ state, auto }, index) => {
    const spec = specs[index];
    return state === "found" && spec !== undefined && (auto || asked.length > 0) ? [spec] : [];
  });
  const report: DoctorReport = {
    version: io.version,
    node: process.version,
    sources: findings,
    metrics:
      readable.length === 0
        ? []
        : metricFindings(
            viewDevices(
              await readBriefly({ ...settings, sources: readable }, io, context.log),
              settings.hostName,
            ),
          ),
    kernelLog: checkAccess(),
    ports: [
      { port: 9400, purpose: "gpulse agent", state: await portState(9400) },
      { port: 9410, purpose: "gpulse up", state: await portState(9410) },
    ],
  };
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : asText(report, usesColour(io.stdout, io.env)),
  );
  const works = findings.filter(({ state }) => state === "found");
  return asked.length > 0
    ? Number(works.length < findings.length)
    : Number(!works.some(({ auto }) => auto));
}

const marks: Record<DoctorFinding["state"], readonly [mark: string, colour: string]> = {
  found: ["found", "\u001b[32m"],
  "not-found": ["not found", "\u001b[2m"],
  denied: ["denied", "\u001b[31m"],
  failed: ["failed", "\u001b[31m"],
};

function asText(report: DoctorReport, colour: boolean): string {
  const lines = [`gpulse ${report.version} on Node ${report.node}`, ""];
  for (const { source, state, says, fix, auto } of report.sources) {
    const [mark, start] = marks[state];
    const shown = colour ? `${start}${mark.padEnd(10)}\u001b[0m` : mark.padEnd(10);
    lines.push(
      `${`${source}:`.padEnd(10)} ${shown} ${says}${auto || state !== "found" ? "" : " Never picked by itself: ask for it with --source."}`,
    );
    if (fix !== undefined) lines.push(`${" ".repeat(22)}${fix}`);
  }
  if (report.metrics.length === 0) {
    lines.push("", "No GPU can be read here. gpulse up shows a simulated fleet instead.");
  }
  if (report.metrics.length > 0) lines.push("", ...metricLines(report.metrics));
  const { says, fix } = report.kernelLog;
  lines.push(
    "",
    `kernel log (gpulse agent --kernel-log): ${says}${fix === undefined ? "" : ` ${fix}`}`,
  );
  for (const { port, purpose, state } of report.ports)
    lines.push(`port ${port} (${purpose}): ${state}`);
  return `${lines.join("\n")}\n`;
}

function metricLines(metrics: readonly MetricFinding[]): string[] {
  const rows = metrics.map(({ metric, unit, told, example, absent }) => {
    const reasons = Object.entries(absent).map(([reason, count]) => `${reason} on ${count}`);
    const value =
      example === undefined ? "absent" : `${example}${unit === "none" ? "" : ` ${unit}`}`;
    return [metric, value, told === 0 ? "" : `reported by ${told}`, reasons.join(", ")];
  });
  return alignColumns([["METRIC", "FIRST VALUE", "GPUS", "NOT Reported"], ...rows])
    .trimEnd()
    .split("\n");
}

/** Opens and closes the port on loopback: the surest way to know. */
async function portState(port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) =>
      resolve(systemCode(error) === "EADDRINUSE" ? "in use" : `not usable (${formatError(error)})`),
    );
    server.listen(port, "127.0.0.1", () => server.close(() => resolve("free")));
  });
}
