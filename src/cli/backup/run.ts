/** Runs `gpulse backup`. */
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import type { ClientAccess, ClientFlags } from "../../command/client.ts";
import { clientAccess } from "../../command/client.ts";
import type { CommandIo } from "../../command/io.ts";
import { commandLog } from "../../command/io.ts";
import type { FlagValues } from "../../command/settings.ts";
import { resolveSettings } from "../../command/settings.ts";
import { GpulseError } from "../../errors/error.ts";
import { makeFolderSync } from "../../files/make-folder.ts";
import { StoreError } from "../../store/error.ts";
import { restoreSnapshot } from "../../store/files/snapshot.ts";
import { openHistory } from "../hub/serve.ts";
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
  if (existsSync(path.join(dataDir, "lock")))
    await askHub(folder, dataDir, flags.url, clientAccess(flags, io.env));
  else {
    const storage = await openHistory(settings, io, commandLog(io, "error", false));
    await storage.store.snapshot(folder);
    await storage.close();
  }
  copySmallState(dataDir, path.join(folder, smallStateFolder));
  const lake = existsSync(path.join(dataDir, "lake"))
    ? ` The lake is not in it: copy ${path.join(dataDir, "lake")} as it is, or mirror it to S3.`
    : "";
  io.stdout.write(
    `${folder} holds every sample kept so far, and the users, tokens, silences, events, pipes and runs. Passwords and tokens are in it as hashes: keep it as you keep the hub's own folder.${lake}\n`,
  );
  return 0;
}

/** The hub makes the snapshot in its own folder, consistent while it goes on writing; we take it from there. */
async function askHub(
  folder: string,
  dataDir: string,
  url: string | undefined,
  access: ClientAccess,
): Promise<void> {
  const data = (await new HubClient(url ?? defaultHubUrl, access).ask(
    "/api/v1/admin/tsdb/snapshot",
    {},
  )) as { name?: unknown } | undefined;
  const name = data?.name;
  if (typeof name !== "string" || !/^[\w-]+$/.test(name))
    throw new GpulseError("QUERY_FAILED", "The hub did not name its snapshot.");
  const made = path.join(dataDir, "snapshots", name);
  if (!existsSync(made))
    throw new GpulseError(
      "DATA_FOLDER",
      `The hub that answers does not keep its data in ${dataDir}: name its folder with --data.`,
    );
  makeFolderSync(folder);
  cpSync(made, folder, { recursive: true });
  rmSync(made, { recursive: true });
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
