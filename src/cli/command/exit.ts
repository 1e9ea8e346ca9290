/** Exit codes of commands: 0 success, 1 failure or a negative result, 2 incorrect usage. */
import { errorCodes } from "../../base/codes.ts";
import { GpulseError, systemCode } from "../../base/error.ts";

/** Runs the action; an expected error becomes one sentence and an exit code. An unexpected error keeps its stack: it is a bug. */
export async function runToExit(
  action: () => Promise<number | void>,
  write: (text: string) => void,
): Promise<number> {
  try {
    checkCurrentFolder();
    return (await action()) ?? 0;
  } catch (thrown) {
    if (thrown instanceof GpulseError) {
      write(`gpulse: ${thrown.message}\n`);
      return errorCodes[thrown.code].exit;
    }
    write(
      `gpulse: BUG: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`,
    );
    return 1;
  }
}

/** Relative paths, and some libraries while loading, need the current folder; without it they fail with misleading errors. */
function checkCurrentFolder(): void {
  try {
    process.cwd();
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    throw new GpulseError(
      "FOLDER_UNUSABLE",
      "The current folder no longer exists: it was deleted or unmounted. Change to another folder with cd and run the command again.",
      { cause: thrown },
    );
  }
}
