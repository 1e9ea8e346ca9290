/** Reads rule tests in promtool's file format. Every error is reported with its position. */
import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { readDocument } from "../../config/yaml/document.ts";
import { duration, list, mappingOf, scalar, yamlBoolean } from "../../config/yaml/fields.ts";
import { plainSentence } from "../../sources/scrape/config/file.ts";
import { expandGlob } from "../../config/yaml/glob.ts";

const texts = () => mappingOf(v.optional(scalar(), ""));

const yamlFloat: Readonly<Record<string, number>> = {
  ".inf": Infinity,
  "+.inf": Infinity,
  "-.inf": -Infinity,
  ".nan": Number.NaN,
};

/** A YAML number, including NaN. */
function float() {
  const takes = "a number";
  return v.pipe(
    scalar(takes),
    v.check((text) => text.toLowerCase() in yamlFloat || !Number.isNaN(Number(text)), takes),
    v.transform((text) => yamlFloat[text.toLowerCase()] ?? Number(text)),
  );
}

/** Unix seconds or RFC 3339, converted to milliseconds. */
function instant() {
  const takes = "a time such as 2026-01-01T00:00:00Z, or Unix seconds";
  return v.pipe(
    scalar(takes),
    v.transform((text) =>
      /^-?\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 1_000) : Date.parse(text),
    ),
    v.check((ms) => Number.isSafeInteger(ms), takes),
  );
}

const alertCase = v.strictObject({
  eval_time: v.optional(duration(), "0"),
  alertname: v.optional(scalar(), ""),
  exp_alerts: list(v.strictObject({ exp_labels: texts(), exp_annotations: texts() })),
});

const exprCase = v.strictObject({
  expr: v.optional(scalar(), ""),
  eval_time: v.optional(duration(), "0"),
  exp_samples: list(
    v.strictObject({
      labels: v.optional(scalar(), ""),
      value: v.optional(float(), "0"),
      histogram: v.optional(scalar(), ""),
    }),
  ),
});

const groupSchema = v.strictObject({
  name: v.optional(scalar(), ""),
  interval: v.optional(duration(), "0"),
  input_series: list(
    v.strictObject({ series: v.optional(scalar(), ""), values: v.optional(scalar(), "") }),
  ),
  alert_rule_test: list(alertCase),
  promql_expr_test: list(exprCase),
  external_labels: texts(),
  external_url: v.optional(scalar(), ""),
  start_timestamp: v.optional(instant(), "0"),
});

const fileSchema = v.strictObject({
  rule_files: list(scalar()),
  evaluation_interval: v.optional(duration(), "0"),
  group_eval_order: list(scalar()),
  tests: list(groupSchema),
  fuzzy_compare: v.optional(yamlBoolean(), "false"),
});

export type TestGroup = v.InferOutput<typeof groupSchema>;
export type AlertCase = v.InferOutput<typeof alertCase>;
export type ExprCase = v.InferOutput<typeof exprCase>;

export interface TestFile {
  readonly file: string;
  readonly ruleFiles: readonly string[];
  /** Patterns that match no file. */
  readonly unmatched: readonly string[];
  readonly evaluationIntervalMs: number;
  readonly groupOrder: readonly string[];
  readonly tests: readonly TestGroup[];
  readonly fuzzyCompare: boolean;
}

/** @throws GpulseError RULE_FILE with every error, one per line. */
export async function readTestFile(file: string): Promise<TestFile> {
  let source: string;
  try {
    source = readFileSync(file, "utf8");
  } catch (thrown) {
    throw new GpulseError("RULE_FILE", `${file}: cannot be read (${formatError(thrown)}).`);
  }
  const document = await readDocument(source, file);
  const checked = checkValue(fileSchema, document.value);
  if (Array.isArray(document.value))
    throw new GpulseError("RULE_FILE", `${file}:1:1: must be a mapping with the key tests.`);
  const refuse = (problems: readonly string[]): never => {
    throw new GpulseError("RULE_FILE", problems.join("\n"));
  };
  if (!checked.ok)
    return refuse(
      checked.problems.map(
        ({ path, sentence }) =>
          `${document.at(path)}: ${plainSentence(document.value, path, sentence)}`,
      ),
    );
  const raw = checked.value;
  const twice = raw.group_eval_order.find((name, at, all) => all.indexOf(name) < at);
  if (twice !== undefined)
    refuse([`${document.at(["group_eval_order"])}: duplicate group "${twice}".`]);
  const folder = dirname(file);
  const patterns = raw.rule_files.map((one) => (isAbsolute(one) ? one : join(folder, one)));
  return {
    file,
    ruleFiles: [...new Set(patterns.flatMap(expandGlob))],
    unmatched: patterns.filter((pattern) => expandGlob(pattern).length === 0),
    evaluationIntervalMs: raw.evaluation_interval || 60_000,
    groupOrder: raw.group_eval_order,
    tests: raw.tests,
    fuzzyCompare: raw.fuzzy_compare,
  };
}
