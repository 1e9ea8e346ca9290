/** What is found while a configuration is read: mistakes, and parts that are understood and do nothing here. Never a secret. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";

export type ConfigPath = readonly (string | number)[];

export interface ConfigIssue {
  readonly path: ConfigPath;
  readonly sentence: string;
}

/** `scrape_configs[2].ec2_sd_configs`. */
export function formatConfigPath(path: ConfigPath): string {
  return path.reduce<string>(
    (shown, part) =>
      typeof part === "number" ? `${shown}[${part}]` : shown === "" ? part : `${shown}.${part}`,
    "",
  );
}

export class ConfigDiagnostics {
  readonly mistakes: ConfigIssue[] = [];
  readonly unsupported: ConfigIssue[] = [];
  /** What promtool refuses and Prometheus starts with: `gpulse config check` fails, the hub warns and runs. */
  readonly checkFailures: ConfigIssue[] = [];
  /** `metric_name_validation_scheme: legacy`, of the file or of the job that is being read. */
  legacyNames = false;
  readonly #folder: string;
  readonly #isPrometheusFile: boolean;
  #refusals: ConfigIssue[] | undefined;

  /**
   * Relative paths start at the folder, which is that of the file being read.
   *
   * @param isPrometheusFile a file that was written for Prometheus loads wherever Prometheus loads it: parts that are not
   * supported become inactive, and files that are named and not there are reported. A file of ours is refused instead.
   */
  constructor(folder: string, isPrometheusFile = false) {
    this.#folder = folder;
    this.#isPrometheusFile = isPrometheusFile;
  }

  wrong(path: ConfigPath, sentence: string): void {
    this.mistakes.push({ path, sentence: `${formatConfigPath(path)}: ${sentence}` });
  }

  /** Ignored, with a diagnostic. */
  lacks(path: ConfigPath, why: string): void {
    this.unsupported.push({ path, sentence: `${formatConfigPath(path)} is not supported: ${why}` });
  }

  /** Has less effect than written, for an external reason. */
  remark(path: ConfigPath, sentence: string): void {
    this.unsupported.push({ path, sentence: `${formatConfigPath(path)}: ${sentence}` });
  }

  failsCheck(path: ConfigPath, sentence: string): void {
    this.checkFailures.push({ path, sentence: `${formatConfigPath(path)}: ${sentence}` });
  }

  /** To go on without it would do something else than was asked for. */
  refuses(path: ConfigPath, why: string): void {
    const found = { path, sentence: `${formatConfigPath(path)} is not supported: ${why}` };
    (this.#refusals ?? this.mistakes).push(found);
  }

  /**
   * Reads a part of the file that can be left out: what it refuses as not supported makes only this part inactive. It is
   * reported with the consequence, and the reasons are returned.
   */
  part<Part>(consequence: string, read: () => Part): { part: Part; inactive: string | undefined } {
    if (!this.#isPrometheusFile) return { part: read(), inactive: undefined };
    const outer = this.#refusals;
    const refusals: ConfigIssue[] = [];
    this.#refusals = refusals;
    try {
      const part = read();
      for (const { path, sentence } of refusals)
        this.unsupported.push({ path, sentence: `${sentence} ${consequence}` });
      const reasons = refusals.map(({ sentence }) => sentence);
      return { part, inactive: reasons.length === 0 ? undefined : reasons.join(" ") };
    } finally {
      this.#refusals = outer;
    }
  }

  /** Reports a file that is named and not there. `isNeeded`: promtool refuses it as well. */
  checkFile(path: ConfigPath, file: string | undefined, isNeeded: boolean): void {
    if (!this.#isPrometheusFile || file === undefined || existsSync(file)) return;
    const sentence = `the file ${file} does not exist.`;
    if (isNeeded) this.failsCheck(path, sentence);
    else this.remark(path, sentence);
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
