/** The folder's lock for one write: waits until the lock is free, and is never held across an await. */
import { FolderLockedError, lockFolder } from "./lock.ts";

const waitMs = 5;
const attempts = 1_000;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export function withFolderLock<Result>(dir: string, work: () => Result): Result {
  for (let attempt = 0; ; attempt++) {
    let lock;
    try {
      lock = lockFolder(dir, { brief: true });
    } catch (thrown) {
      if (!(thrown instanceof FolderLockedError) || attempt >= attempts) throw thrown;
      Atomics.wait(sleeper, 0, 0, waitMs);
      continue;
    }
    try {
      return work();
    } finally {
      lock.release();
    }
  }
}
