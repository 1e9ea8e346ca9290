/** Reads a file named by the user, up to the maximum size of a snapshot. */
import { open } from "node:fs/promises";
import { GpulseError, systemCode } from "../../base/error.ts";
import { mostSnapshotBytes } from "../../runs/snapshot/parse.ts";

export async function readFileBounded(file: string): Promise<string> {
  try {
    const handle = await open(file, "r");
    try {
      const { size } = await handle.stat();
      if (size > mostSnapshotBytes)
        throw new GpulseError(
          "FILE_FORMAT",
          `${file} has ${Math.round(size / 2 ** 20)} MiB, more than any snapshot. Pass a file written by gpulse snapshot save.`,
        );
      return await handle.readFile("utf8");
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (thrown instanceof GpulseError) throw thrown;
    throw new GpulseError(
      "FILE_UNREADABLE",
      `Cannot read ${file} (${systemCode(thrown) ?? "error"}). Check the path, or create a snapshot with gpulse snapshot save FILE.`,
      { cause: thrown },
    );
  }
}
