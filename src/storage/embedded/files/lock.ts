/** The lock of a store's folder: the one every folder of state has, with the store's own error. */
import { type FolderLock, FolderLockedError, lockFolder } from "../../../base/state/lock.ts";
import { StoreError } from "../error.ts";

export function lockStore(dir: string): FolderLock {
  try {
    return lockFolder(dir);
  } catch (thrown) {
    if (!(thrown instanceof FolderLockedError)) throw thrown;
    throw new StoreError("locked", thrown.message, { cause: thrown });
  }
}

/** Throws once the folder belongs to another process: further writes would damage its data. */
export function requireLock(lock: FolderLock, dir: string): void {
  if (lock.isHeld()) return;
  throw new StoreError(
    "locked",
    `The data folder ${dir} has been taken over by another process: nothing more is written to it. Stop one of the two processes, then restart this one.`,
  );
}
