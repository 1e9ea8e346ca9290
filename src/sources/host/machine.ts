/** The paths of a machine's kernel files, and the access to them, for all readers. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";

export interface HostContext {
  readonly procfs: string;
  readonly sysfs: string;
  readonly nowMs: () => number;
  readonly fileAccess: FileAccess;
}

/** The root of the machine's files. Another /proc means another machine (a container that mounts its host's). */
export const rootOf = ({ procfs }: HostContext): string =>
  procfs === "/proc" ? "" : `${procfs}/1/root`;
