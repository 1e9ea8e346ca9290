/** Whether this user may read the kernel's log, and what to do where not. Opens it for reading only. */
import { closeSync, constants, openSync } from "node:fs";
import { formatError, systemCode } from "../../base/error.ts";

export const defaultKmsg = "/dev/kmsg";

export interface KernelLogAccess {
  readonly state: "found" | "not-found" | "denied" | "failed";
  readonly says: string;
  readonly fix?: string;
}

/** Never waits: without O_NONBLOCK a read of /dev/kmsg sleeps until the kernel says something. */
export function openKmsg(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

export function checkAccess(path = defaultKmsg): KernelLogAccess {
  try {
    closeSync(openKmsg(path));
    return { state: "found", says: `${path} can be read.` };
  } catch (thrown) {
    return explain(path, thrown);
  }
}

export function explain(path: string, thrown: unknown): KernelLogAccess {
  const code = systemCode(thrown);
  if (code === "ENOENT")
    return {
      state: "not-found",
      says: `${path} is not there.`,
      fix: "A container is given it by --device /dev/kmsg:/dev/kmsg:r; see docs/guides/kernel-log.md.",
    };
  if (code === "EPERM" || code === "EACCES")
    return {
      state: "denied",
      says: `This user may not read ${path}.`,
      fix: "It takes root or CAP_SYSLOG, or kernel.dmesg_restrict=0 and the group the device is of (often adm); a container needs the device itself too. See docs/guides/kernel-log.md.",
    };
  return { state: "failed", says: `${path} cannot be read: ${formatError(thrown)}` };
}
