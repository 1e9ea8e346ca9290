/** Reads Prometheus rule files. Every error is reported with its position. */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { QueryError } from "../../query/errors.ts";
import { parse } from "../../query/parse/parse.ts";
import { isLabelName } from "../../query/quote.ts";
import { readDocument } from "../../config/yaml/document.ts";
import { duration, list, mappingOf, scalar } from "../../config/yaml/fields.ts";
import { plainSentence } from "../../sources/scrape/config/file.ts";
import type { ConfigPath } from "../../config/yaml/diagnostics.ts";
import { checkAlertTemplate } from "../../formats/template/alert.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { Rule, RuleGroup } from "./types.ts";

const maxFileBytes = 8 * 1024 * 1024;

/** A key without a value is an empty text. */
const texts = () => mappingOf(v.optional(scalar(), ""));

const ruleSchema = v.strictObject({
  record: v.optional(scalar(), ""),
  alert: v.optional(scalar(), ""),
  expr: v.optional(scalar("a PromQL expression"), ""),
  for: v.optional(duration(), "0"),
  keep_firing_for: v.optional(duration(), "0"),
  labels: texts(),
  annotations: texts(),
});

const groupSchema = v.strictObject({
  name: v.optional(scalar(), ""),
  interval: v.optional(duration(), "0"),
  query_offset: v.optional(duration()),
  limit: v.optional(
    v.pipe(scalar("a whole number"), v.regex(/^-?\d+$/, "a whole number"), v.transform(Number)),
    "0",
  ),
  labels: texts(),
  rules: list(ruleSchema),
});

const fileSchema = v.strictObject({ groups: list(groupSchema) });

type RawRule = v.InferOutput<typeof ruleSchema>;
type RawGroup = v.InferOutput<typeof groupSchema>;

export interface CheckedRules {
  readonly groups: readonly RuleGroup[];
  /** One sentence each, with file, line and column. */
  readonly problems: readonly string[];
  /** Settings without effect, one sentence each. */
  readonly warnings: readonly string[];
}

/** @throws GpulseError RULE_FILE with every error, one per line. */
export async function readRuleFile(file: string): Promise<readonly RuleGroup[]> {
  return whole(await checkRuleFile(file));
}

/** @throws GpulseError RULE_FILE with every error, one per line. */
export async function parseRuleFile(source: string, file: string): Promise<readonly RuleGroup[]> {
  return whole(await checkRules(source, file));
}

export async function checkRuleFile(file: string): Promise<CheckedRules> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (thrown) {
    return nothing(`${file}: cannot be read (${formatError(thrown)}).`);
  }
  if (bytes.length > maxFileBytes) return nothing(`${file}: is larger than 8 MiB.`);
  return checkRules(bytes.toString("utf8"), file);
}

const nothing = (...problems: readonly string[]): CheckedRules => ({
  groups: [],
  problems,
  warnings: [],
});

export async function checkRules(source: string, file: string): Promise<CheckedRules> {
  let document: Awaited<ReturnType<typeof readDocument>>;
  try {
    document = await readDocument(source, file);
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    return nothing(thrown.message);
  }
  if (Array.isArray(document.value))
    return nothing(`${file}:1:1: must be a mapping with the key groups.`);
  const checked = checkValue(fileSchema, document.value);
  if (!checked.ok) {
    const problems = checked.problems.map(
      ({ path, sentence }) =>
        `${document.at(path)}: ${plainSentence(document.value, path, sentence)}`,
    );
    return nothing(...problems);
  }
  const problems: string[] = [];
  const reportProblem: ReportProblem = (path, sentence) =>
    void problems.push(`${document.at(path)}: ${sentence}`);
  const names = new Set<string>();
  const groups = checked.value.groups.map((group, index) => {
    const path = ["groups", index];
    if (group.name === "") reportProblem(path, "the group has no name.");
    if (names.has(group.name)) reportProblem(path, `duplicate group name "${group.name}".`);
    names.add(group.name);
    for (const name of Object.keys(group.labels))
      checkLabelName(name, [...path, "labels"], reportProblem);
    return groupOf(group, path, file, reportProblem);
  });
  return { groups, problems, warnings: document.ignored === undefined ? [] : [document.ignored] };
}

type ReportProblem = (path: ConfigPath, sentence: string) => void;

function whole({ groups, problems }: CheckedRules): readonly RuleGroup[] {
  if (problems.length > 0) throw new GpulseError("RULE_FILE", problems.join("\n"));
  return groups;
}

function groupOf(
  group: RawGroup,
  path: ConfigPath,
  file: string,
  reportProblem: ReportProblem,
): RuleGroup {
  return {
    file,
    name: group.name,
    intervalMs: group.interval === 0 ? undefined : group.interval,
    queryOffsetMs: group.query_offset,
    limit: group.limit,
    rules: group.rules.map((rule, index) => {
      const named = rule.alert || rule.record;
      const where = `group "${group.name}", rule ${index + 1}, "${named}"`;
      return ruleOf(rule, group, (key, sentence) =>
        reportProblem([...path, "rules", index, ...key], `${where}: ${sentence}`),
      );
    }),
  };
}

function ruleOf(raw: RawRule, group: RawGroup, reportProblem: ReportProblem): Rule {
  if (raw.record !== "" && raw.alert !== "")
    reportProblem(["alert"], "only one of record and alert may be set.");
  if (raw.record === "" && raw.alert === "")
    reportProblem([], "one of record and alert must be set.");
  checkExpr(raw.expr, reportProblem);
  for (const name of Object.keys(raw.labels)) checkLabelName(name, ["labels", name], reportProblem);
  const labels = { ...group.labels, ...raw.labels };
  if (raw.alert === "") {
    checkRecord(raw, reportProblem);
    return { kind: "record", name: raw.record, expr: raw.expr, labels };
  }
  for (const kind of ["labels", "annotations"] as const)
    for (const [name, value] of Object.entries(raw[kind]))
      checkTemplate(value, name, [kind, name], reportProblem);
  for (const name of Object.keys(raw.annotations))
    if (!isLabelName(name)) reportProblem(["annotations"], `invalid annotation name "${name}".`);
  return {
    kind: "alert",
    name: raw.alert,
    expr: raw.expr,
    forMs: raw.for,
    keepFiringForMs: raw.keep_firing_for,
    labels,
    annotations: raw.annotations,
  };
}

function checkRecord(raw: RawRule, reportProblem: ReportProblem): void {
  for (const key of ["for", "keep_firing_for"] as const)
    if (raw[key] !== 0) reportProblem([key], `a recording rule must not have ${key}.`);
  if (Object.keys(raw.annotations).length > 0)
    reportProblem(["annotations"], "a recording rule must not have annotations.");
  if (/[{}]/.test(raw.record))
    reportProblem(["record"], `braces in the name "${raw.record}": do they belong in expr?`);
}

function checkLabelName(name: string, path: ConfigPath, reportProblem: ReportProblem): void {
  if (!isLabelName(name) || name === "__name__")
    reportProblem(path, `invalid label name "${name}".`);
}

function checkExpr(expr: string, reportProblem: ReportProblem): void {
  if (expr === "") return reportProblem([], "expr must be set.");
  try {
    parse(expr);
  } catch (thrown) {
    if (!(thrown instanceof QueryError)) throw thrown;
    reportProblem(["expr"], `could not parse expression: ${thrown.message}`);
  }
  return undefined;
}

function checkTemplate(
  source: string,
  name: string,
  path: ConfigPath,
  reportProblem: ReportProblem,
): void {
  try {
    checkAlertTemplate(source);
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    reportProblem(path, `the template of "${name}" cannot be parsed: ${thrown.message}`);
  }
}
