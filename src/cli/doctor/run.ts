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
import type { Device } from "../../model/device.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type MetricFinding, metricFindings } from "./metrics.ts";
import { readBriefly } from "./read.ts";
import { formatDoctor } from "./show.ts";

export interface DoctorFlags extends FlagValues {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly capture?: string;
}

export interface SourceFinding extends DoctorFinding {
  readonly source: string;
  readonly summary: string;
  /** True if `auto` would use it. */
  readonly auto: boolean;
}

export interface DoctorReport {
  readonly version: string;
  readonly node: string;
  /** The GPUs that the sources read, each with its source. */
  readonly gpus: readonly (Device & { readonly source: string })[];
  readonly sources: readonly SourceFinding[];
  /** Values of the sources found, by metric. */
  readonly metrics: readonly MetricFinding[];
  /** Whether `gpulse agent --kernel-log` could read the kernel log. */
  readonly kernelLog: KernelLogAccess;
  readonly ports: readonly {
    readonly port: number;
    readonly purpose: string;
    readonly state: string;
  }[];
}

export async function runDoctor(
  flags: DoctorFlags,
  io: CommandIo,
  url: string | undefined,
): Promise<number> {
  if (url !== undefined) {
    const { formatEndpoint, inspectEndpoint } = await import("./endpoint.ts");
    const found = await inspectEndpoint(url, Date.now());
    io.stdout.write(
      flags.json === true ? `${JSON.stringify(found, null, 2)}\n` : formatEndpoint(found),
    );
    return Number(found.exporters.length === 0);
  }
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
  const frames =
    readable.length === 0
      ? []
      : await readBriefly({ ...settings, sources: readable }, io, context.log);
  const report: DoctorReport = {
    version: io.version,
    node: process.version,
    gpus: gpusOf(frames, findings),
    sources: findings,
    metrics: metricFindings(viewDevices(frames, settings.hostName)),
    kernelLog: checkAccess(),
    ports: [
      { port: 9400, purpose: "gpulse agent", state: await portState(9400) },
      { port: 9410, purpose: "gpulse up", state: await portState(9410) },
    ],
  };
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : formatDoctor(report, {
          columns: io.stdout.isTTY === true ? io.stdout.columns : undefined,
          colour: usesColour(io.stdout, io.env),
          all: flags.all === true,
          named: asked.length > 0,
        }),
  );
  const works = findings.filter(({ state }) => state === "found");
  return asked.length > 0
    ? Number(works.length < findings.length)
    : Number(!works.some(({ auto }) => auto));
}

/** GPUs as listed by the sources while reading; if reading fails, as detected. */
function gpusOf(
  frames: readonly Delivery[],
  findings: readonly SourceFinding[],
): DoctorReport["gpus"] {
  const listed = [
    ...frames.map(({ source, devices }) => ({ source, devices })),
    ...findings.map(({ source, devices = [] }) => ({ source, devices })),
  ].flatMap(({ source, devices }) => devices.map((device) => ({ ...device, source })));
  const byUuid = new Map<string, (typeof listed)[number]>();
  for (const gpu of listed) if (!byUuid.has(gpu.uuid)) byUuid.set(gpu.uuid, gpu);
  return [...byUuid.values()];
}

/** Opens and closes the port on loopback, which is the most reliable test. */
async function portState(port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) =>
      resolve(systemCode(error) === "EADDRINUSE" ? "in use" : `not usable (${formatError(error)})`),
    );
    server.listen(port, "127.0.0.1", () => server.close(() => resolve("free")));
  });
}
