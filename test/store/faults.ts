/** Faults of a disk, injected below the store: a test file mocks `node:fs` with `faultyFs`, and sets `faults.rule`. */
import type * as Fs from "node:fs";

type Operation = "open" | "read" | "write" | "fsync";

/** The offset of an operation on a file as a whole. */
export const wholeFile = -1;

export const faults: {
  /** Returns the error code that the operation fails with. `offset` is where it reads or writes. */
  rule: ((operation: Operation, file: string, offset: number) => string | undefined) | undefined;
  failed: number;
} = { rule: undefined, failed: 0 };

function check(operation: Operation, file: string, offset = 0): Error | undefined {
  const code = faults.rule?.(operation, file, offset);
  if (code === undefined) return undefined;
  faults.failed++;
  return Object.assign(new Error(`${code}: injected, ${operation} '${file}'`), { code });
}

function throwIf(error: Error | undefined): void {
  if (error !== undefined) throw error;
}

export async function faultyFs(importOriginal: () => Promise<typeof Fs>): Promise<typeof Fs> {
  const real = await importOriginal();
  const files = new Map<number, string>();
  const nameOf = (fd: unknown): string => files.get(Number(fd)) ?? "";
  const wrapped = {
    openSync: (file: string, flags: string, mode?: number): number => {
      throwIf(check("open", file));
      const fd = real.openSync(file, flags, mode);
      files.set(fd, file);
      return fd;
    },
    readSync: (fd: number, buffer: Buffer, at: number, length: number, position: number) => {
      throwIf(check("read", nameOf(fd), position));
      return real.readSync(fd, buffer, at, length, position);
    },
    readFileSync: (file: number | string, options?: BufferEncoding) => {
      throwIf(check("read", typeof file === "number" ? nameOf(file) : file, wholeFile));
      return real.readFileSync(file, options);
    },
    writeSync: (fd: number, bytes: Buffer, at: number, length: number, position: number) => {
      throwIf(check("write", nameOf(fd), position));
      return real.writeSync(fd, bytes, at, length, position);
    },
    writeFileSync: (file: number | string, text: string, options?: Fs.WriteFileOptions) => {
      throwIf(check("write", typeof file === "number" ? nameOf(file) : file));
      real.writeFileSync(file, text, options);
    },
    fsyncSync: (fd: number) => {
      throwIf(check("fsync", nameOf(fd)));
      real.fsyncSync(fd);
    },
    fdatasync: (fd: number, done: (error: Error | null) => void) => {
      const error = check("fsync", nameOf(fd));
      if (error !== undefined) setImmediate(() => done(error));
      else real.fdatasync(fd, done);
    },
  };
  return { ...real, ...wrapped, default: { ...real, ...wrapped } } as unknown as typeof Fs;
}
