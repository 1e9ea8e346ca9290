/** Runs `gpulse runs`: recorded benchmark runs, local and on a hub. Every file is verified before it is shown. */
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { makeFolder } from "../../base/make-folder.ts";
import {
  describeRun,
  packRun,
  readRunBytes,
  readRunFile,
  runExtension,
  unpackRun,
  writeRunBytes,
} from "../../runs/file/file.ts";
import { energyOf, powerKindOf } from "../../runs/energy.ts";
import { describeForMlperf } from "../../runs/mlperf/describe.ts";
import { describeEnergy } from "../../runs/mlperf/energy.ts";
import { parseSnapshot } from "../../runs/snapshot/parse.ts";
import { partialExtension, readPartial } from "../../runs/record/partial.ts";
import type { Run, RunFile } from "../../runs/run.ts";
import { HubClient } from "../hub-client.ts";
import { defaultFile, defaultFolder } from "../run/run.ts";
import { formatRunSummary } from "../run/summary.ts";
import { alignColumns } from "../table.ts";

export interface RunsFlags extends ClientFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly folder?: string;
  readonly out?: string;
  readonly seal?: string;
}

interface ListedRun {
  readonly file: string;
  readonly run?: Run;
  readonly seal?: string;
  readonly trouble?: string;
}

/** Lists the runs of a folder or a hub. A damaged file is listed with its error, and the exit code is 1. */
export async function listRuns(flags: RunsFlags, io: CommandIo): Promise<number> {
  const listed = flags.url === undefined ? await inFolder(flags.folder) : await onHub(flags, io);
  if (flags.json === true) printJson(flags, io, { runs: listed });
  else if (listed.length === 0) io.stdout.write("No runs found. Record one with gpulse run.\n");
  else
    io.stdout.write(
      alignColumns([
        ["RUN", "LABEL", "STARTED", "DURATION", "WORK", "SYSTEM", "FILE"],
        ...listed.map(rowOf),
      ]),
    );
  return listed.some(({ trouble: problem }) => problem !== undefined) ? 1 : 0;
}

function rowOf({ file, run, trouble: problem }: ListedRun): string[] {
  if (run === undefined) return ["", "", "", "", "", problem ?? "", file];
  const { work } = run;
  return [
    run.id,
    run.label,
    new Date(run.startedMs).toISOString().slice(0, 19),
    `${run.durationSeconds.toFixed(1)} s`,
    work === undefined ? "" : `${Number(work.amount.toPrecision(6))} ${work.unit}`,
    run.complete ? run.verdict.verdict : "interrupted",
    file,
  ];
}

async function inFolder(given: string | undefined): Promise<ListedRun[]> {
  const folder = given ?? defaultFolder;
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (thrown) {
    const isMissing = systemCode(thrown) === "ENOENT";
    if (isMissing && given === undefined) return [];
    throw new GpulseError(
      "FILE_UNREADABLE",
      isMissing
        ? `There is no folder ${folder}. Check the path of --folder.`
        : `Cannot read ${folder} (${formatError(thrown)}).`,
      { cause: thrown },
    );
  }
  const listed: ListedRun[] = [];
  for (const name of names.toSorted()) {
    const file = path.join(folder, name);
    if (name.endsWith(partialExtension))
      listed.push({
        file,
        trouble: "in progress, or interrupted: recover it with gpulse runs recover",
      });
    if (!name.endsWith(runExtension)) continue;
    try {
      listed.push({ file, ...(await describeRun(await readRunBytes(file), file)) });
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      listed.push({ file, trouble: thrown.message });
    }
  }
  return listed.toSorted((one, other) => (one.run?.startedMs ?? 0) - (other.run?.startedMs ?? 0));
}

async function onHub(flags: RunsFlags, io: CommandIo): Promise<ListedRun[]> {
  const { status, body } = await hubOf(flags, io).call("GET", "/api/runs");
  if (status !== 200) throw refused(body, status);
  const { runs } = body as {
    readonly runs: readonly { readonly run: Run; readonly seal: string }[];
  };
  return runs.map(({ run, seal }) => ({ file: `${flags.url ?? ""}#${run.id}`, run, seal }));
}

export async function showRun(name: string, flags: RunsFlags, io: CommandIo): Promise<number> {
  const file = await findRun(name, flags, io);
  if (flags.json === true) {
    printJson(flags, io, { ...file.run, seal: file.seal });
    return 0;
  }
  const { run } = file;
  io.stdout.write(`run ${run.id} on ${run.host}, ${new Date(run.startedMs).toISOString()}\n`);
  if (run.command.length > 0) io.stdout.write(`command ${run.command.join(" ")}\n`);
  for (const line of formatRunSummary(file)) io.stdout.write(`${line}\n`);
  for (const { name: phase, startMs, endMs } of run.phases)
    io.stdout.write(
      `phase ${phase}: second ${((startMs - run.startedMs) / 1_000).toFixed(1)} to ${((endMs - run.startedMs) / 1_000).toFixed(1)}\n`,
    );
  for (const [variable, value] of Object.entries(run.visible.variables))
    io.stdout.write(`${variable}=${value}\n`);
  io.stdout.write(`seal ${file.seal}\n`);
  return 0;
}

/** Writes the system description from the snapshot before the run, and its energy. */
export async function writeMlperf(name: string, flags: RunsFlags, io: CommandIo): Promise<number> {
  const { run, before } = await findRun(name, flags, io);
  if (before === undefined)
    throw new GpulseError(
      "RUN_FILE",
      `${name} has no snapshot: the system it ran on is not known. Record it again.`,
    );
  const snapshot = parseSnapshot(JSON.stringify(before), `the snapshot in ${name}`);
  const described = describeForMlperf(snapshot);
  const energy = describeEnergy(run);
  if (flags.json === true) {
    printJson(flags, io, { ...described, energy });
    return 0;
  }
  const folder = flags.out ?? ".";
  await makeFolder(folder);
  for (const [file, value] of [
    ["system.json", described.system],
    ["energy.json", energy],
  ] as const) {
    await writeFile(path.join(folder, file), `${JSON.stringify(value, null, 2)}\n`);
    io.stdout.write(`wrote ${path.join(folder, file)}\n`);
  }
  for (const sentence of [...described.warnings, energy.notice])
    io.stderr.write(`gpulse: ${sentence}\n`);
  for (const [words, required] of [
    ["fill in by hand, the submission checker requires them", true],
    ["may stay empty", false],
  ] as const) {
    const fields = described.missing.filter((one) => one.required === required);
    if (fields.length > 0)
      io.stderr.write(`gpulse: ${words}: ${fields.map(({ field }) => field).join(", ")}\n`);
  }
  return 0;
}

/** Verifies every entry; with --seal also that the file has this seal. */
export async function verifyRuns(
  files: readonly string[],
  flags: RunsFlags,
  io: CommandIo,
): Promise<number> {
  const results: { file: string; valid: boolean; id?: string; seal?: string; error?: string }[] =
    [];
  for (const file of files) {
    try {
      const { run, seal } = await readRunFile(file);
      if (flags.seal !== undefined && !seal.startsWith(flags.seal.toLowerCase()))
        throw new GpulseError(
          "RUN_FILE",
          `${file} is valid, but its seal is ${seal}. Check that it is the right file.`,
        );
      results.push({ file, valid: true, id: run.id, seal });
      if (flags.json !== true) io.stdout.write(`${file}: valid, run ${run.id}, seal ${seal}\n`);
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      results.push({ file, valid: false, error: thrown.message });
      if (flags.json !== true) io.stderr.write(`gpulse: ${thrown.message}\n`);
    }
  }
  printJson(flags, io, { files: results });
  return results.some(({ valid }) => !valid) ? 1 : 0;
}

/** Copies a file, or a hub's run by its id, into the folder of runs. */
export async function importRuns(
  names: readonly string[],
  flags: RunsFlags,
  io: CommandIo,
): Promise<number> {
  const imported: { file: string; id: string }[] = [];
  for (const name of names) {
    const bytes =
      flags.url === undefined ? await readRunBytes(name) : await download(name, flags, io);
    const { run } = await unpackRun(bytes, name);
    const folder = flags.folder ?? defaultFolder;
    const file = defaultFile(run.label, run.id, new Date(run.startedMs), folder);
    await writeRunBytes(file, bytes);
    imported.push({ file, id: run.id });
    if (flags.json !== true) io.stdout.write(`${file}\n`);
  }
  printJson(flags, io, { imported });
  return 0;
}

export async function pushRuns(
  files: readonly string[],
  flags: RunsFlags,
  io: CommandIo,
): Promise<number> {
  const hub = hubOf(flags, io);
  const pushed: { file: string; id: string; existed: boolean }[] = [];
  for (const file of files) {
    const bytes = await readRunBytes(file);
    await unpackRun(bytes, file);
    const { status, body } = await hub.upload("/api/runs", bytes);
    if (status !== 201 && status !== 200) throw refused(body, status);
    const { id } = body as { readonly id: string };
    pushed.push({ file, id, existed: status === 200 });
    if (flags.json !== true)
      io.stdout.write(`${file}: ${status === 200 ? "already on the hub" : "pushed"}, run ${id}\n`);
  }
  printJson(flags, io, { pushed });
  return 0;
}

/** Converts the data of an interrupted run to a file; the folder stays until the user removes it. */
export async function recoverRun(folder: string, flags: RunsFlags, io: CommandIo): Promise<number> {
  const left = readPartial(folder);
  const span = [left.run.startedMs, left.run.endedMs] as const;
  const run: Run = {
    ...left.run,
    durationSeconds: (span[1] - span[0]) / 1_000,
    devices: left.run.devices.map((device) => ({
      ...device,
      power: powerKindOf(left.trace.get(device.uuid)),
      energy: energyOf(left.trace.get(device.uuid), span, left.run.samplingMs),
    })),
    notes: [
      ...left.run.notes,
      "The recording was interrupted: it ends with the last reading, and no snapshot was taken afterwards.",
    ],
  };
  const file: RunFile = { ...left, run };
  const { bytes, seal } = await packRun(file);
  const target = flags.out ?? folder.replace(/\.partial\/?$/, "").replace(/\/$/, "");
  const out = target.endsWith(runExtension) ? target : `${target}${runExtension}`;
  await writeRunBytes(out, bytes);
  printJson(flags, io, { file: out, seal, ...run });
  if (flags.json === true) return 0;
  for (const line of formatRunSummary(file)) io.stdout.write(`${line}\n`);
  io.stdout.write(`saved to ${out} (seal ${seal.slice(0, 16)}); ${folder} can be removed\n`);
  return 0;
}

function printJson({ json }: RunsFlags, io: CommandIo, document: object): void {
  if (json === true) io.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}

async function findRun(
  name: string,
  flags: RunsFlags,
  io: CommandIo,
): Promise<RunFile & { readonly seal: string }> {
  if (flags.url !== undefined) return unpackRun(await download(name, flags, io), name);
  return readRunFile(name);
}

async function download(id: string, flags: RunsFlags, io: CommandIo): Promise<Uint8Array> {
  const { status, body } = await hubOf(flags, io).download(
    `/api/runs/${encodeURIComponent(id)}/file`,
  );
  if (status !== 200)
    throw new GpulseError(
      "QUERY_FAILED",
      `The hub has no run ${id}. List its runs with gpulse runs list --url URL.`,
    );
  return body;
}

const hubOf = (flags: RunsFlags, io: CommandIo): HubClient =>
  new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));

function refused(body: unknown, status: number): GpulseError {
  const said =
    typeof body === "object" && body !== null && "error" in body
      ? String(body.error)
      : `status ${status}`;
  return new GpulseError("QUERY_FAILED", `The hub refused the request: ${said}`);
}
