/** An identity of this machine, for GPUs without one of their own. The machine id itself is never exported. */
import { createHash } from "node:crypto";
import path from "node:path";
import { readText } from "./read.ts";

/** systemd's file first, then D-Bus's older one: 32 hexadecimal digits. */
const files = ["etc/machine-id", "var/lib/dbus/machine-id"];
const machineIdPattern = /^[0-9a-f]{32}$/i;

/**
 * Twelve hexadecimal digits: a hash of the machine id and the host name. Both are used, because cloned disks and container images
 * share a machine id, and two machines may have the same name. Without a readable machine id only the host name is used.
 *
 * The file is searched next to `procfs`: with `/host/proc` it is `/host/etc/machine-id`, never the container image's.
 */
export async function machineIdentity(host: string, procfs: string): Promise<string> {
  return hashIdentity((await readMachineId(procfs)) ?? "", host);
}

async function readMachineId(procfs: string): Promise<string | undefined> {
  const root = path.dirname(path.resolve(procfs));
  for (const file of files) {
    const text = await readText(path.join(root, file), 64);
    if (text.ok && machineIdPattern.test(text.value) && !/^0+$/.test(text.value))
      return text.value.toLowerCase();
  }
  return undefined;
}

function hashIdentity(machineId: string, host: string): string {
  return createHash("sha256")
    .update(`gpulse gpu identity\n${machineId}\n${host}`)
    .digest("hex")
    .slice(0, 12);
}
