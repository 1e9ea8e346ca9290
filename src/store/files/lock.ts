/** The lock of a store's folder: the one every folder of state has, with the store's own error. */
import type { FolderLock } from "../../state/lock.ts";
import { FolderLocked, lockFolder } from "../../state/lock.ts";
import { StoreError } from "../error.ts";

export function lockStore(dir: string): FolderLock {
  try {
    return lockFolder(dir);
  } catch (thrown) {
    if (!(thrown instanceof FolderLocked)) throw thrown;
    throw new StoreError("locked", thrown.message, { cause: thrown });
  }
}
