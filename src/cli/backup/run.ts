/** Runs `gpulse backup`. */
import { cpSync, existsSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import path from "node:path";
import { type ClientAccess, clientAccess, type ClientFlags } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { makeFolderSync } from "../../base/make-folder.ts";
import { readAddress } from "../../hub/address.ts";
import { lockOwner } from "../../base/state/lock.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import { restoreSnapshot } from "../../storage/embedded/files/snapshot.ts";
import { openHistory } from "../../hub/compose/serve.ts";
import { defaultHubUrl, HubClient } from "../hub-client.ts";
import { copySmallState, smallStateFolder } from "./small-state.ts";

export interface BackupFlags extends FlagValues, ClientFlags {
  readonly url?: string;
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
      `There is no data folder ${dataDir}: name it with --data.`,
    );
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new GpulseError(
      "DATA_FOLDER",
      `${folder} is not empty: choose a folder that does not exist yet.`,
    );
  // Complete or not there: the folder gets its name once everything is in it.
  const aside = `${path.resolve(folder)}.partial-${process.pid}`;
  try {
    const owner = lockOwner(dataDir);
    if (owner === undefined) {
      const storage = await openHistory(settings, io, commandLog(io, "error", false));
      await storage.store.snapshot(aside);
      await storage.close();
    } else {
      const url = flags.url ?? readAddress(dataDir) ?? defaultHubUrl;
      await copyFromHub(aside, { dataDir, owner, url, access: clientAccess(flags, io.env) });
    }
    copySmallState(dataDir, path.join(aside, smallStateFolder));
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  const lake = existsSync(path.join(dataDir, "lake"))
    ? ` The lake is not in it: copy ${path.join(dataDir, "lake")} as it is, or mirror it to S3.`
    : "";
  io.stdout.write(
    `${folder} holds every sample kept so far, and the users, tokens, silences, events, pipes and runs. Passwords and tokens are in it as hashes: keep it as you keep the hub's own folder.${lake}\n`,
  );
  return 0;
}

interface RunningHub {
  readonly dataDir: string;
  /** The process that holds the folder's lock, in words. */
  readonly owner: string;
  readonly url: string;
  readonly access: ClientAccess;
}

/** The hub makes the snapshot in its own folder, consistent while it continues to write; it is moved out of there. */
async function copyFromHub(
  folder: string,
  { dataDir, owner, url, access }: RunningHub,
): Promise<void> {
  const name = await snapshotName(url, access).catch((thrown: unknown) => {
    if (!(thrown instanceof GpulseError) || thrown.code !== "AGENT_UNREACHABLE") throw thrown;
    throw new GpulseError(
      "AGENT_UNREACHABLE",
      `The data folder ${dataDir} is in use by ${owner}, and no hub answers at ${url}: name the hub of that process with --url, or stop it.`,
      { cause: thrown },
    );
  });
  const made = path.join(dataDir, "snapshots", name);
  if (!existsSync(made))
    throw new GpulseError(
      "DATA_FOLDER",
      `The hub at ${url} does not keep its data in ${dataDir}, which ${owner} uses: name the hub of that process with --url, or the folder with --data.`,
    );
  try {
    makeFolderSync(folder);
    cpSync(made, folder, { recursive: true });
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function snapshotName(url: string, access: ClientAccess): Promise<string> {
  const data = await new HubClient(url, access).ask("/api/v1/admin/tsdb/snapshot", {});
  const name = (data as { name?: unknown } | undefined)?.name;
  if (typeof name !== "string" || !/^[\w-]+$/.test(name))
    throw new GpulseError("QUERY_FAILED", "The hub did not name its snapshot.");
  return name;
}

export async function restoreBackup(
  folder: string,
  flags: BackupFlags,
  io: CommandIo,
): Promise<number> {
  const { dataDir } = await resolveSettings("hub", { logLevel: "error", ...flags }, io.env);
  try {
    restoreSnapshot(folder, dataDir);
    copySmallState(path.join(folder, smallStateFolder), dataDir);
  } catch (thrown) {
    if (thrown instanceof StoreError)
      throw new GpulseError("DATA_FOLDER", thrown.message, { cause: thrown });
    throw thrown;
  }
  io.stdout.write(`${dataDir} holds what ${folder} held: start a hub on it.\n`);
  return 0;
}
