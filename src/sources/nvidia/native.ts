/** Loads a native library of the driver with koffi and binds a table of its functions. A call made through it may never return. */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { LibraryHandle } from "koffi";

export type Argument = number | bigint | ArrayBufferView | null;
export type NativeFunction = (...args: Argument[]) => number;

/** `handle` and numbers are passed by value, `out` is memory that the library reads or fills. */
export type ArgumentKind = "handle" | "u32" | "u64" | "out";
export type Signatures = Readonly<Record<string, readonly ArgumentKind[]>>;

const ctypes: Readonly<Record<ArgumentKind, string>> = {
  handle: "uint64_t",
  u32: "unsigned int",
  u64: "uint64_t",
  out: "void *",
};

/** `refused`: a library file exists and does not load, such as one of another architecture. */
export class LibraryLoadError extends Error {
  readonly refused: boolean;

  constructor(message: string, refused: boolean) {
    super(message);
    this.refused = refused;
  }
}

export interface LoadedLibrary<Name extends string> {
  readonly functions: Readonly<Record<Name, NativeFunction>>;
  readonly path: string;
  /** Functions missing from the library; calling one returns `missingCode`. */
  readonly missing: readonly Name[];
}

/**
 * Loads the first library of the list that can be loaded. If none can, throws the loader's error, preferring that of an existing
 * file over that of a missing one.
 */
export async function loadLibrary<Table extends Signatures>(
  paths: readonly string[],
  signatures: Table,
  missingCode: number,
): Promise<LoadedLibrary<keyof Table & string>> {
  const { default: koffi } = await import("koffi");
  const errors: LibraryLoadError[] = [];
  for (const path of paths) {
    try {
      return bind(koffi.load(path), path, signatures, missingCode);
    } catch (thrown) {
      errors.push(loadError(path, thrown));
    }
  }
  throw (
    errors.find(({ refused }) => refused) ??
    errors[0] ??
    new LibraryLoadError("no library to load", false)
  );
}

/** The loader reports a missing dependency of a library in the same words as a missing library. */
function loadError(path: string, thrown: unknown): LibraryLoadError {
  const reason = (thrown instanceof Error ? thrown.message : String(thrown)).replace(
    /^Failed to load shared library: /,
    "",
  );
  const saysMissing = /no such file|module could not be found/i.test(reason);
  const exists = isAbsolute(path) && existsSync(path);
  const hint = saysMissing && exists ? "; a library it depends on is missing" : "";
  return new LibraryLoadError(`${path}: ${reason}${hint}`, exists || !saysMissing);
}

function bind<Table extends Signatures>(
  library: LibraryHandle,
  path: string,
  signatures: Table,
  missingCode: number,
): LoadedLibrary<keyof Table & string> {
  type Name = keyof Table & string;
  const missing: Name[] = [];
  const bound = Object.entries(signatures).map(([name, kinds]): [string, NativeFunction] => {
    try {
      const types = kinds.map((kind) => ctypes[kind]);
      return [name, library.func(name, "int", types) as NativeFunction];
    } catch {
      missing.push(name);
      return [name, () => missingCode];
    }
  });
  return { functions: Object.fromEntries(bound) as Record<Name, NativeFunction>, path, missing };
}
