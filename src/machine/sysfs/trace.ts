/** A door that remembers what went through it, to show in a test that a sleeping GPU was left alone. */
import { type FileAccess, hostFileAccess } from "./file-access.ts";

export interface TracedFileAccess extends FileAccess {
  /** Every path opened, listed or followed since the last `splice(0)`. */
  readonly touched: string[];
}

export function traceFileAccess(inner: FileAccess = hostFileAccess): TracedFileAccess {
  const touched: string[] = [];
  const note = (path: string): string => {
    touched.push(path);
    return path;
  };
  return {
    touched,
    bytes: (path, maxBytes) => inner.bytes(note(path), maxBytes),
    list: (path) => inner.list(note(path)),
    link: (path) => inner.link(note(path)),
    resolve: (path) => inner.resolve(note(path)),
  };
}
