/** Runs `gpulse backup`. */
import { cpSync, existsSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import {
  type ClientAccess,
  clientAccess,
  type ClientFlags,
  defaultHubUrl,
} from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { countOf, formatBytes } from "../command/quantity.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { makeFolderSync } from "../../base/make-folder.ts";
import { readAddress } from "../../hub/address.ts";
import { lockOwner } from "../../base/state/lock.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import { restoreSnapshot } from "../../storage/embedded/files/snapshot.ts";
import { openHistory } from "../../hub/compose/serve.ts";
import { HubClient } from "../hub-client.ts";

export interface BackupFlags extends FlagValues, ClientFlags {
  readonly url?: string;
  readonly json?: boolean;
}

export async function createBackup(
  folder: string,
  flags: BackupFlags,
  io: CommandIo,
): Promise<number> {
  const settings = await resolveSettings("hub", { logLevel: "error", ...flags }, io.env);
  const { dataDir } = settings;
  if (!existsSync(dataDir))
    throw new GpulseError(
      "DATA_FOLDER",
      `There is no data folder ${dataDir}. Pass the right one with --data.`,
    );
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new GpulseError(
      "DATA_FOLDER",
      `${folder} is not empty. Choose a folder that does not exist yet.`,
    );
  const progress = new Progress(io.stderr, Date.now, flags.json === true);
  // Copies to a temporary name and renames at the end: the backup is complete or missing.
  const aside = `${path.resolve(folder)}.partial-${process.pid}`;
  try {
    const owner = lockOwner(dataDir);
    const copied = copyProgress(progress, "backup");
    if (owner === undefined) {
      const storage = await openHistory(settings, io, commandLog(io, "error", false));
      await storage.store.snapshot(aside, copied(path.join(dataDir, "blocks")));
      await storage.close();
    } else {
      const url = flags.url ?? readAddress(dataDir) ?? defaultHubUrl;
      const access = clientAccess(flags, io.env);
      await copyFromHub(aside, { dataDir, owner, url, access, copied });
    }
    copySmallState(dataDir, path.join(aside, smallStateFolder));
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(aside, folder);
  } finally {
    progress.clear();
    rmSync(aside, { recursive: true, force: true });
  }
  if (flags.json === true) {
    printJson(io, { folder, dataDir, ...folderSize(folder) });
    return 0;
  }
  const lake = existsSync(path.join(dataDir, "lake"))
    ? ` It does not contain the lake: copy ${path.join(dataDir, "lake")} yourself, or mirror it to S3.`
    : "";
  const { files, bytes } = folderSize(folder);
  io.stdout.write(
    `${folder} contains the history, users, tokens, silences, events, pipes and runs: ${countOf(files, "file")}, ${formatBytes(bytes)}. It contains hashes of passwords and tokens: protect it like the data folder.${lake}\n`,
  );
  return 0;
}

interface RunningHub {
  readonly dataDir: string;
  /** Description of the process that holds the folder's lock. */
  readonly owner: string;
  readonly url: string;
  readonly access: ClientAccess;
  readonly copied: CopyProgress;
}

/** The hub creates a consistent snapshot in its own folder while it continues to write; the snapshot is then moved out. */
async function copyFromHub(
  folder: string,
  { dataDir, owner, url, access, copied }: RunningHub,
): Promise<void> {
  const name = await snapshotName(url, access).catch((thrown: unknown) => {
    if (!(thrown instanceof GpulseError) || thrown.code !== "AGENT_UNREACHABLE") throw thrown;
    throw new GpulseError(
      "AGENT_UNREACHABLE",
      `The data folder ${dataDir} is in use by ${owner}, and no hub answers at ${url}. Pass the URL of that hub with --url, or stop it.`,
      { cause: thrown },
    );
  });
  const made = path.join(dataDir, "snapshots", name);
  if (!existsSync(made))
    throw new GpulseError(
      "DATA_FOLDER",
      `The hub at ${url} does not use the data folder ${dataDir}, which ${owner} uses. Pass the URL of that hub with --url, or another folder with --data.`,
    );
  try {
    makeFolderSync(folder);
    const onFile = copied(made);
    cpSync(made, folder, { recursive: true, filter: (file) => (onFile(file), true) });
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function snapshotName(url: string, access: ClientAccess): Promise<string> {
  const data = await new HubClient(url, access).ask("/api/v1/admin/tsdb/snapshot", {});
  const name = (data as { name?: unknown } | undefined)?.name;
  if (typeof name !== "string" || !/^[\w-]+$/.test(name))
    throw new GpulseError("QUERY_FAILED", "The hub returned no snapshot name. Update the hub.");
  return name;
}

export async function restoreBackup(
  folder: string,
  flags: BackupFlags,
  io: CommandIo,
): Promise<number> {
  const { dataDir } = await resolveSettings("hub", { logLevel: "error", ...flags }, io.env);
  const progress = new Progress(io.stderr, Date.now, flags.json === true);
  try {
    restoreSnapshot(folder, dataDir, copyProgress(progress, "restore")(folder));
    copySmallState(path.join(folder, smallStateFolder), dataDir);
  } catch (thrown) {
    if (thrown instanceof StoreError)
      throw new GpulseError("DATA_FOLDER", thrown.message, { cause: thrown });
    throw thrown;
  } finally {
    progress.clear();
  }
  if (flags.json === true) printJson(io, { dataDir, folder, ...folderSize(dataDir) });
  else
    io.stdout.write(
      `Restored ${folder} to ${dataDir}. Start a hub with gpulse hub --data ${dataDir}.\n`,
    );
  return 0;
}

const printJson = (io: CommandIo, document: object): void =>
  void io.stdout.write(`${JSON.stringify(document, null, 2)}\n`);

/** For a folder being copied: returns the callback for each of its files. */
type CopyProgress = (folder: string) => (file: string) => void;

function copyProgress(progress: Progress, name: string): CopyProgress {
  return (folder) => {
    const total = existsSync(folder) ? folderSize(folder).bytes : 0;
    let bytes = 0;
    return (file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      if (stat?.isFile() !== true) return;
      bytes += stat.size;
      const fraction = total === 0 ? undefined : bytes / total;
      progress.show({ name, fraction, count: bytes, unit: "byte" });
    };
  };
}

function folderSize(folder: string): { readonly files: number; readonly bytes: number } {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(path.join(entry.parentPath, entry.name)).size);
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Not included: pending notifications (they would be sent again, days later), sessions, spools and the lake. */
const smallStateFiles = [
  "access/audit.jsonl",
  "access/audit-unprivileged.jsonl",
  // Each mark is copied before its file, which may grow meanwhile: a mark ahead of its file would be treated as damage.
  "access/shares.state.mark",
  "access/shares.state",
  "access/tokens.state.mark",
  "access/tokens.state",
  "access/users.state.mark",
  "access/users.state",
  "alerts/deliveries.log",
  "alerts/sent.log",
  "alerts/silences.log",
  "events",
  "pipes/pipes.log",
  "rules",
  "runs",
  "snapshots/snapshots.log",
  "boards/boards.log",
] as const;

/** In a snapshot, all state files are in this folder, which the store itself ignores. */
const smallStateFolder = "state";

/** Returns the files that were copied. */
function copySmallState(from: string, to: string): string[] {
  const found = smallStateFiles.filter((one) => existsSync(path.join(from, one)));
  for (const one of found) {
    makeFolderSync(path.dirname(path.join(to, one)), { mode: 0o700 });
    cpSync(path.join(from, one), path.join(to, one), { recursive: true, preserveTimestamps: true });
  }
  return found;
}
