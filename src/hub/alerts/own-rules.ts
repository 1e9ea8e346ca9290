/**
 * The alert rules created on the page: one Prometheus rule file in the data folder, with earlier versions beside it. A change
 * is validated before it is written, and rolled back if the hub cannot load it.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import { formatDuration } from "../../config/duration.ts";
import { checkRuleFile, checkRules } from "../../alerting/rules/file.ts";
import type { AlertingRule } from "../../alerting/rules/types.ts";
import { formatError } from "../../base/error.ts";
import { makeFolderSync } from "../../base/make-folder.ts";
import { replaceFile } from "../../base/state/atomic.ts";

const ownRulesGroup = "page";

const ownRuleLimits = { rules: 200, earlierVersions: 20 } as const;

/** A rule as the page sends it. */
export interface OwnRule {
  readonly name: string;
  readonly expr: string;
  readonly forMs: number;
  readonly severity: string;
  readonly summary: string;
}

export class OwnRuleError extends Error {
  readonly status: 400 | 404 | 409 | 507;

  constructor(status: OwnRuleError["status"], sentence: string) {
    super(sentence);
    this.status = status;
  }
}

export const ownRulesFile = (dataDir: string): string => path.join(dataDir, "rules", "page.yml");

export class OwnRules {
  readonly #file: string;
  readonly #reload: () => Promise<void>;
  /** Serializes changes. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param reload makes the hub read its rules again; throws if they are invalid */
  constructor(dataDir: string, reload: () => Promise<void>) {
    this.#file = ownRulesFile(dataDir);
    this.#reload = reload;
  }

  /** The number of the newest version; 0 before the first. */
  get version(): number {
    return Math.max(0, ...this.#versions());
  }

  /** The content of the file; undefined if there is none. */
  text(): string | undefined {
    return existsSync(this.#file) ? readFileSync(this.#file, "utf8") : undefined;
  }

  /** @throws OwnRuleError if the file is damaged */
  async rules(): Promise<readonly AlertingRule[]> {
    if (!existsSync(this.#file)) return [];
    const { groups, problems } = await checkRuleFile(this.#file);
    if (problems.length > 0)
      throw new OwnRuleError(
        409,
        `The file of rules is damaged: fix or remove ${this.#file}. ${problems[0] ?? ""}`,
      );
    return groups.flatMap(({ rules }) => rules.filter((rule) => rule.kind === "alert"));
  }

  /** Adds a rule or replaces the one of the same name. @throws OwnRuleError with the reason; nothing is changed then */
  async put(rule: OwnRule, isNew: boolean): Promise<number> {
    return this.#change((rules) => {
      const at = rules.findIndex(({ name }) => name === rule.name);
      if (at >= 0 && isNew)
        throw new OwnRuleError(
          409,
          `There is a rule "${rule.name}" on the page already: take another name.`,
        );
      if (at < 0 && rules.length >= ownRuleLimits.rules)
        throw new OwnRuleError(
          507,
          `The page has at most ${ownRuleLimits.rules} rules: delete one first.`,
        );
      const next: AlertingRule = {
        kind: "alert",
        name: rule.name,
        expr: rule.expr,
        forMs: rule.forMs,
        keepFiringForMs: 0,
        labels: { severity: rule.severity },
        annotations: rule.summary === "" ? {} : { summary: rule.summary },
      };
      return at < 0 ? [...rules, next] : rules.with(at, next);
    });
  }

  /** @throws OwnRuleError */
  async remove(name: string): Promise<number> {
    return this.#change((rules) => {
      if (!rules.some((rule) => rule.name === name))
        throw new OwnRuleError(404, `There is no rule "${name.slice(0, 100)}" made on the page.`);
      return rules.filter((rule) => rule.name !== name);
    });
  }

  #change(change: (rules: readonly AlertingRule[]) => readonly AlertingRule[]): Promise<number> {
    const work = this.#last.then(async () => this.#write(change(await this.rules())));
    this.#last = work.catch(() => undefined);
    return work;
  }

  async #write(rules: readonly AlertingRule[]): Promise<number> {
    const version = this.version + 1;
    const text = textOf(rules, version);
    const { problems } = await checkRules(text, path.basename(this.#file));
    if (problems.length > 0) throw new OwnRuleError(400, problems.map(withoutPlace).join(" "));
    const before = this.text();
    makeFolderSync(path.dirname(this.#file), { mode: 0o700 });
    replaceFile(this.#file, text);
    try {
      await this.#reload();
    } catch (thrown) {
      if (before === undefined) rmSync(this.#file, { force: true });
      else replaceFile(this.#file, before);
      throw new OwnRuleError(
        400,
        `The hub cannot use it, and the rules stay as they were: ${formatError(thrown)}`,
      );
    }
    replaceFile(this.#versionFile(version), text);
    for (const old of this.#versions().slice(ownRuleLimits.earlierVersions))
      rmSync(this.#versionFile(old), { force: true });
    return version;
  }

  #versionFile(version: number): string {
    return path.join(path.dirname(this.#file), `page.${version}.yml`);
  }

  /** Newest first. */
  #versions(): number[] {
    const folder = path.dirname(this.#file);
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .flatMap((name) => /^page\.(\d{1,9})\.yml$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((one, other) => other - one);
  }
}

/** Removes the position: it refers to a file that is not written yet. */
const withoutPlace = (problem: string): string => problem.replace(/^page\.yml:\d+:\d+: /, "");

function textOf(rules: readonly AlertingRule[], version: number): string {
  const head = `# Alerts made on the page of this hub, version ${version}. The page writes this file; any Prometheus reads it.\n`;
  const group = {
    name: ownRulesGroup,
    rules: rules.map(({ name, expr, forMs, labels, annotations }) => ({
      alert: name,
      expr,
      ...(forMs > 0 ? { for: formatDuration(forMs) } : {}),
      labels,
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    })),
  };
  return head + stringify({ groups: rules.length === 0 ? [] : [group] }, { lineWidth: 0 });
}
