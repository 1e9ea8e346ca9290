/** Reads Prometheus rule files, unchanged. A mistake is told with its place; nothing is guessed. */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { parseDurationMs } from "../../config/duration.ts";
import { checkText } from "../../config/file.ts";
import { GpulseError, sayError } from "../../errors/error.ts";
import { QueryError } from "../../query/errors.ts";
import { parse } from "../../query/parse/parse.ts";
import { checkAlertTemplate } from "../../template/alert.ts";
import { TemplateError } from "../../template/lex.ts";
import type { Rule, RuleGroup } from "./types.ts";

const maxFileBytes = 8 * 1024 * 1024;

function duration() {
  const takes = "a duration such as 30s or 5m";
  return v.pipe(
    v.union([v.string(takes), v.number(takes)], takes),
    v.transform((given) =>
      given === 0 || given === "0" ? 0 : (parseDurationMs(String(given)) ?? Number.NaN),
    ),
    v.check((ms) => ms >= 0, takes),
  );
}

/** YAML reads 1 and true as what they are; a label's value is text all the same. */
const text = () =>
  v.pipe(
    v.union([v.string("text"), v.number("text"), v.boolean("text")], "text"),
    v.transform(String),
  );
const texts = () => v.nullish(v.record(v.string(), v.pipe(v.nullish(text(), ""))), {});

const ruleSchema = v.strictObject({
  record: v.optional(v.string("a metric name")),
  alert: v.optional(text()),
  expr: text(),
  for: v.optional(duration()),
  keep_firing_for: v.optional(duration()),
  labels: texts(),
  annotations: texts(),
});

const groupSchema = v.strictObject({
  name: text(),
  interval: v.optional(duration()),
  query_offset: v.optional(duration()),
  evaluation_delay: v.optional(duration()),
  limit: v.optional(v.pipe(v.number("a whole number"), v.integer("a whole number"))),
  labels: texts(),
  rules: v.nullish(v.array(ruleSchema), []),
});

const fileSchema = v.strictObject({ groups: v.nullish(v.array(groupSchema), []) });

type RawRule = v.InferOutput<typeof ruleSchema>;
type RawGroup = v.InferOutput<typeof groupSchema>;

export async function readRuleFile(file: string): Promise<RuleGroup[]> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (thrown) {
    throw new GpulseError(
      "RULE_FILE",
      `The rule file ${file} cannot be read (${sayError(thrown)}).`,
    );
  }
  if (bytes.length > maxFileBytes)
    throw new GpulseError("RULE_FILE", `The rule file ${file} is larger than 8 MiB.`);
  return parseRuleFile(bytes.toString("utf8"), file);
}

/** @throws GpulseError RULE_FILE with every mistake, a line each. */
export async function parseRuleFile(source: string, file: string): Promise<RuleGroup[]> {
  const checked = await checkText(source, file, fileSchema, undefined);
  if (!checked.ok)
    throw new GpulseError("RULE_FILE", checked.problems.map(({ sentence }) => sentence).join("\n"));
  const problems: string[] = [];
  const names = new Set<string>();
  const groups = checked.value.groups.map((group): RuleGroup => {
    const say = (sentence: string): void => void problems.push(`${file}: ${sentence}`);
    if (group.name === "") say("a group has no name");
    if (names.has(group.name)) say(`the group name "${group.name}" stands twice`);
    names.add(group.name);
    return {
      file,
      name: group.name,
      intervalMs: group.interval === 0 ? undefined : group.interval,
      queryOffsetMs: group.query_offset ?? group.evaluation_delay ?? 0,
      limit: group.limit ?? 0,
      rules: group.rules.map((rule, index) =>
        ruleOf(rule, group, (sentence) =>
          say(
            `group "${group.name}", rule ${index + 1}, "${rule.alert ?? rule.record ?? ""}": ${sentence}`,
          ),
        ),
      ),
    };
  });
  if (problems.length > 0) throw new GpulseError("RULE_FILE", problems.join("\n"));
  return groups;
}

function ruleOf(raw: RawRule, group: RawGroup, say: (sentence: string) => void): Rule {
  if ((raw.record === undefined) === (raw.alert === undefined))
    say("exactly one of record and alert must be set");
  checkExpr(raw.expr, say);
  const labels = { ...group.labels, ...raw.labels };
  for (const [name, value] of Object.entries(labels)) {
    if (name === "" || name === "__name__") say(`invalid label name "${name}"`);
    if (raw.alert !== undefined) checkTemplate(`label "${name}"`, value, say);
  }
  if (raw.record !== undefined) {
    if (raw.record === "" || /[{}]/.test(raw.record))
      say(`invalid recording rule name "${raw.record}"`);
    if (raw.for !== undefined) say("a recording rule takes no for");
    if (raw.keep_firing_for !== undefined) say("a recording rule takes no keep_firing_for");
    if (Object.keys(raw.annotations).length > 0) say("a recording rule takes no annotations");
    return { kind: "record", name: raw.record, expr: raw.expr, labels };
  }
  for (const [name, value] of Object.entries(raw.annotations)) {
    if (name === "") say(`invalid annotation name "${name}"`);
    checkTemplate(`annotation "${name}"`, value, say);
  }
  return {
    kind: "alert",
    name: raw.alert ?? "",
    expr: raw.expr,
    forMs: raw.for ?? 0,
    keepFiringForMs: raw.keep_firing_for ?? 0,
    labels,
    annotations: raw.annotations,
  };
}

function checkExpr(expr: string, say: (sentence: string) => void): void {
  if (expr === "") return say("the field expr must be set");
  try {
    parse(expr);
  } catch (thrown) {
    if (!(thrown instanceof QueryError)) throw thrown;
    say(`could not parse expression: ${thrown.message}`);
  }
  return undefined;
}

function checkTemplate(where: string, source: string, say: (sentence: string) => void): void {
  try {
    checkAlertTemplate(source);
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    say(`the template of ${where} cannot be parsed: ${thrown.message}`);
  }
}
