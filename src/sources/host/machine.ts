/** What a machine hands every reader: where its kernel files are, and where the readings go. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";

export interface HostContext {
  readonly procfs: string;
  readonly sysfs: string;
  readonly nowMs: () => number;
  readonly fileAccess: FileAccess;
}

/** The root of the machine's own files: another /proc is another machine's (a container that mounts its host's). */
export const rootOf = ({ procfs }: HostContext): string =>
  procfs === "/proc" ? "" : `${procfs}/1/root`;
