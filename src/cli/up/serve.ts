/** What `up`, `hub` and `backup` share: the page, the history, and who may reach them. */
import { fileURLToPath } from "node:url";
import type { CommandIo } from "../../command/io.ts";
import type { Settings } from "../../command/settings.ts";
import { GpulseError } from "../../errors/error.ts";
import { isLoopback } from "../../hub/guard.ts";
import type { EmbeddedStorage } from "../../hub/storage.ts";
import { openStorage } from "../../hub/storage.ts";
import type { Log } from "../../log/log.ts";

/** Beside the bundle's folder; every chunk stands in it. */
export const webDir = fileURLToPath(new URL("../web", import.meta.url));

export function refuseOpenToNetwork({ listen: { host }, insecure }: Settings): void {
  if (isLoopback(host) || insecure) return;
  throw new GpulseError(
    "OPEN_TO_NETWORK",
    `Listening on ${host} would open gpulse to the network with nothing that guards it: keep 127.0.0.1, or say --insecure.`,
  );
}

/** The history in the settings' data folder. */
export function openHistory(settings: Settings, io: CommandIo, log: Log): Promise<EmbeddedStorage> {
  const { dataDir, retentionMs } = settings;
  return openStorage({ dir: dataDir, retentionMs, log, nowMs: Date.now, version: io.version });
}
