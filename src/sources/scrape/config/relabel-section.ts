/** Lists of relabelling rules. */
import * as v from "valibot";
import { GpulseError } from "../../../base/error.ts";
import { compileRule, type RelabelRule } from "../../../formats/relabel/rule.ts";
import { count, scalar } from "../../../config/yaml/fields.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";

const ruleSchema = v.strictObject({
  source_labels: v.optional(v.array(scalar())),
  separator: v.optional(scalar()),
  regex: v.optional(scalar()),
  modulus: v.optional(count()),
  target_label: v.optional(scalar()),
  replacement: v.optional(scalar()),
  action: v.optional(scalar()),
});

export const rulesSchema = () => v.optional(v.array(ruleSchema), []);

export function readRules(
  raw: readonly v.InferOutput<typeof ruleSchema>[],
  reading: ConfigDiagnostics,
  path: ConfigPath,
): RelabelRule[] {
  return raw.flatMap((rule, index) => {
    try {
      return [compileRule(rule, reading.legacyNames)];
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      reading.wrong([...path, index], thrown.message);
      return [];
    }
  });
}
