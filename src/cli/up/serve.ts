/** What `up` and `hub` share in serving. */
import { fileURLToPath } from "node:url";
import type { Settings } from "../../command/settings.ts";
import { GpulseError } from "../../errors/error.ts";
import { isLoopback } from "../../hub/guard.ts";

/** Beside the bundle's folder; every chunk stands in it. */
export const webDir = fileURLToPath(new URL("../web", import.meta.url));

export function refuseOpenToNetwork({ listen: { host }, insecure }: Settings): void {
  if (isLoopback(host) || insecure) return;
  throw new GpulseError(
    "OPEN_TO_NETWORK",
    `Listening on ${host} would open gpulse to the network with nothing that guards it: keep 127.0.0.1, or say --insecure.`,
  );
}
