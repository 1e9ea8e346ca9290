/** Errors of the machine's system memory, as counted by the kernel's EDAC drivers since boot. */
import type { FileAccess } from "./sysfs/file-access.ts";
import { listDir, readNumber } from "./sysfs/read.ts";
import { present, type ReadResult, unsupported } from "./sysfs/read-result.ts";

export interface MemoryController {
  /** `mc0`, … */
  readonly name: string;
  readonly corrected: ReadResult<number>;
  readonly uncorrected: ReadResult<number>;
}

/** Limit; a machine with eight sockets has 64. */
const mostControllers = 256;

/** `devices/system/edac/mc/mc*` in sysfs; the folder is empty or missing if no EDAC driver is loaded. */
export async function readMemoryControllers(
  sysfs: string,
  fileAccess: FileAccess,
): Promise<ReadResult<readonly MemoryController[]>> {
  const folder = `${sysfs}/devices/system/edac/mc`;
  const names = await listDir(folder, fileAccess);
  if (!names.ok) return names;
  const controllers = names.value.filter((name) => /^mc\d{1,4}$/.test(name)).sort(byNumber);
  if (controllers.length === 0) return unsupported;
  return present(
    await Promise.all(
      controllers.slice(0, mostControllers).map(async (name) => ({
        name,
        corrected: await readNumber(`${folder}/${name}/ce_count`, fileAccess),
        uncorrected: await readNumber(`${folder}/${name}/ue_count`, fileAccess),
      })),
    ),
  );
}

const byNumber = (left: string, right: string): number =>
  Number(left.slice(2)) - Number(right.slice(2));
