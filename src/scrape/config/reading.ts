/** What is found while a configuration is read: mistakes, and parts that are understood and do nothing here. Never a secret. */
import { isAbsolute, join } from "node:path";

export type ConfigPath = readonly (string | number)[];

export interface Found {
  readonly path: ConfigPath;
  readonly sentence: string;
}

/** `scrape_configs[2].ec2_sd_configs`. */
export function shownPath(path: ConfigPath): string {
  return path.reduce<string>(
    (shown, part) =>
      typeof part === "number" ? `${shown}[${part}]` : shown === "" ? part : `${shown}.${part}`,
    "",
  );
}

export class Reading {
  readonly mistakes: Found[] = [];
  readonly unsupported: Found[] = [];
  readonly #folder: string;

  /** Relative paths start at the folder, which is that of the file being read. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  wrong(path: ConfigPath, sentence: string): void {
    this.mistakes.push({ path, sentence: `${shownPath(path)}: ${sentence}` });
  }

  /** It is read past, and said. */
  lacks(path: ConfigPath, why: string): void {
    this.unsupported.push({ path, sentence: `${shownPath(path)} is not supported: ${why}` });
  }

  /** It does less than it says, for a reason that is not ours. */
  remark(path: ConfigPath, sentence: string): void {
    this.unsupported.push({ path, sentence: `${shownPath(path)}: ${sentence}` });
  }

  /** To go on without it would do something else than was asked for. */
  refuses(path: ConfigPath, why: string): void {
    this.mistakes.push({ path, sentence: `${shownPath(path)} is not supported: ${why}` });
  }

  file(path: string): string {
    return path === "" || isAbsolute(path) ? path : join(this.#folder, path);
  }

  optionalFile(path: string | undefined): string | undefined {
    return path === undefined || path === "" ? undefined : this.file(path);
  }

  /** At most one of these may be given. */
  onlyOne(path: ConfigPath, given: Readonly<Record<string, unknown>>): void {
    const names = Object.keys(given).filter(
      (name) => given[name] !== undefined && given[name] !== "",
    );
    if (names.length > 1) this.wrong(path, `at most one of ${names.join(", ")} may be given.`);
  }
}
