/**
 * Access to /proc and /sys, whose files are read only through it. Tests pass another one to count or deny opens. Asynchronous,
 * because a failing driver can block a read for seconds, which must block a pool thread and not the event loop.
 */
import { close, constants, open, read, readdir, readlink, realpath } from "node:fs";

export interface FileAccess {
  /** Reads at most `maxBytes` from the start; rejects with the system's error. */
  readonly bytes: (path: string, maxBytes: number) => Promise<Buffer>;
  readonly list: (path: string) => Promise<string[]>;
  readonly link: (path: string) => Promise<string>;
  readonly resolve: (path: string) => Promise<string>;
}

/** O_NONBLOCK: opening a FIFO must not wait for a writer. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK;

export const hostFileAccess: FileAccess = {
  bytes: async (path, maxBytes) => {
    const file = await called<number>((done) => open(path, openFlags, done));
    try {
      return await readUpTo(file, maxBytes);
    } finally {
      await called<void>((done) => close(file, (error) => done(error ?? null, undefined)));
    }
  },
  list: (path) => called<string[]>((done) => readdir(path, done)),
  link: (path) => called<string>((done) => readlink(path, done)),
  resolve: (path) => called<string>((done) => realpath(path, done)),
};

/** Maximum size of one read from the kernel; longer files need several. */
export const pageBytes = 4_096;

/**
 * Kernel files report no reliable size: read until a read is empty or the limit is reached. Within a page a short read is the
 * end, which saves the second read of nearly every sensor file.
 */
async function readUpTo(file: number, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(maxBytes);
  let length = 0;
  while (length < maxBytes) {
    const start = length;
    const count = await called<number>((done) =>
      read(file, buffer, start, maxBytes - start, start, done),
    );
    length += count;
    if (count === 0 || (maxBytes <= pageBytes && length < maxBytes)) break;
  }
  return buffer.subarray(0, length);
}

type Callback<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

/** Uses callbacks: node:fs/promises takes twice the processor time for files this small. */
function called<T>(call: (done: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => (error === null ? resolve(value) : reject(error)));
  });
}
