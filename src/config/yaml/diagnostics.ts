/**
 * Collects the problems found while a configuration is read: mistakes, and valid parts that have no effect in gpulse. Never
 * contains a secret.
 */
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
  /** Problems that promtool refuses and Prometheus accepts: `gpulse config check` fails, the hub warns and runs. */
  readonly checkFailures: ConfigIssue[] = [];
  /** `metric_name_validation_scheme: legacy`, of the file or of the job being read. */
  legacyNames = false;
  readonly #folder: string;
  readonly #isPrometheusFile: boolean;
  #refusals: ConfigIssue[] | undefined;

  /**
   * Relative paths are resolved against the folder, which is that of the file being read.
   *
   * @param isPrometheusFile a file that was written for Prometheus loads wherever Prometheus loads it: unsupported parts become
   * inactive, and referenced files that do not exist are reported. A gpulse file is refused instead.
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

  /** For a part without which the configuration would behave other than written. */
  refuses(path: ConfigPath, why: string): void {
    const found = { path, sentence: `${formatConfigPath(path)} is not supported: ${why}` };
    (this.#refusals ?? this.mistakes).push(found);
  }

  /**
   * Reads an optional part of the file: if something in it is refused as not supported, only this part becomes inactive. Reports
   * the consequence and returns the reasons.
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

  /** Reports a referenced file that does not exist. `isNeeded`: promtool refuses it as well. */
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
