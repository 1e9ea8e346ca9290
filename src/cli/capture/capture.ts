/**
 * Writes a masked capture of this machine: its GPU files, the output of vendor tools and the values gpulse reads. It can become
 * a test fixture.
 */
import { writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { sourceContext } from "../../agent/run.ts";
import type { CommandIo } from "../command/io.ts";
import type { Settings } from "../command/settings.ts";
import { GpulseError, systemCode } from "../../base/error.ts";
import { frameToJson } from "../../formats/json/frame.ts";
import type { Log } from "../../base/log.ts";
import { parseSource } from "../../sources/open.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { readBriefly } from "../doctor/read.ts";
import { type CommandOutput, runForCapture } from "./commands.ts";
import { Mask } from "./mask.ts";
import { FileRecorder } from "./recorder.ts";

/** Results of all sources: the files that a source without GPUs examined are useful too. */
export async function writeCapture(
  file: string,
  settings: Settings,
  io: CommandIo,
  log: Log,
): Promise<string> {
  const recorder = new FileRecorder(hostFileAccess, settings.procfs);
  const context = sourceContext(settings, log, recorder.fileAccess);
  const components = settings.sources.map(parseSource);
  const readable: Settings["sources"][number][] = [];
  for (const [index, { definition, options }] of components.entries()) {
    const { state } = await definition.doctor(options, context);
    const spec = settings.sources[index];
    if (state === "found" && spec !== undefined) readable.push(spec);
  }
  const frames =
    readable.length === 0
      ? []
      : await readBriefly({ ...settings, sources: readable }, io, log, recorder.fileAccess);
  const outputs: CommandOutput[] = [];
  for (const { definition } of components) {
    for (const command of definition.captureCommands ?? []) {
      const output = await runForCapture(command);
      if (output !== undefined) outputs.push(output);
    }
  }
  const mask = new Mask([settings.hostName, hostname(), userName()]);
  const { files, links } = recorder.recording();
  const capture = {
    schema: "gpulse.capture/1",
    gpulse: io.version,
    platform: `${process.platform}-${process.arch}`,
    sysfs: settings.sysfs,
    procfs: settings.procfs,
    files: files.map((entry) =>
      entry.text === undefined ? entry : { ...entry, text: mask.file(entry.path, entry.text) },
    ),
    links,
    commands: outputs.map((output) => ({
      ...output,
      stdout: mask.text(output.stdout),
      stderr: mask.text(output.stderr),
    })),
    frames: frames.map(({ frame, source, tier }): unknown =>
      JSON.parse(mask.text(frameToJson(frame, source, tier))),
    ),
  };
  save(file, `${JSON.stringify(capture, null, 1)}\n`);
  return `${file}: ${files.length} files, ${outputs.length} commands, ${frames.length} frames. Serial numbers, UUIDs and names are replaced; look it over before you share it.`;
}

function save(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (thrown) {
    const why =
      systemCode(thrown) === "EEXIST"
        ? "is there already: name another"
        : `cannot be written (${systemCode(thrown) ?? "error"})`;
    throw new GpulseError("USAGE", `The capture file ${file} ${why}.`, { cause: thrown });
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no passwd entry; then there is no name to mask.
    return "";
  }
}
