/** Faults of a disk, injected below the store: a test file mocks `node:fs` with `faultyFs`, and sets `faults.rule`. */
import type * as Fs from "node:fs";

type Operation = "open" | "read" | "write" | "fsync";

export const faults: {
  /** Returns the error code that the operation fails with. It reads or writes `length` bytes from `offset` on. */
  rule:
    | ((operation: Operation, file: string, offset: number, length: number) => string | undefined)
    | undefined;
  failed: number;
} = { rule: undefined, failed: 0 };

function check(
  operation: Operation,
  file: string,
  offset = 0,
  length = Infinity,
): Error | undefined {
  const code = faults.rule?.(operation, file, offset, length);
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
      throwIf(check("read", nameOf(fd), position, length));
      return real.readSync(fd, buffer, at, length, position);
    },
    readFileSync: (file: number | string, options?: BufferEncoding) => {
      throwIf(check("read", typeof file === "number" ? nameOf(file) : file));
      return real.readFileSync(file, options);
    },
    writeSync: (fd: number, bytes: Buffer, at: number, length: number, position: number) => {
      throwIf(check("write", nameOf(fd), position, length));
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
