/** What the hub tells of its rules on its own page, bounded: the first so many groups by name, all rules by state. */
import type { RuleGroupRunner } from "../../alerting/rules/group.ts";
import { self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet, noLabels } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";

const maxNamedGroups = 200;
const states = ["pending", "firing"] as const;

const perGroup = [
  [self.ruleGroupInterval, ({ intervalMs }: RuleGroupRunner) => intervalMs / 1_000],
  [self.ruleGroupDuration, ({ evaluationSeconds }: RuleGroupRunner) => evaluationSeconds],
  [self.ruleGroupMissed, ({ missed }: RuleGroupRunner) => missed],
  [self.ruleEvaluations, ({ evaluations }: RuleGroupRunner) => evaluations],
  [self.ruleFailures, ({ failures }: RuleGroupRunner) => failures],
] as const;

export class RuleFrames {
  #names = "\u0000";
  #layout = new LayoutBuilder().build();

  at(
    groups: readonly RuleGroupRunner[],
    loaded: { readonly ok: boolean; readonly timeMs: number },
    nowMs: number,
  ): Frame {
    const told = groups.slice(0, maxNamedGroups);
    this.#layOut(told);
    const writer = new FrameWriter(this.#layout, nowMs);
    let slot = 0;
    writer.set(slot++, Number(loaded.ok));
    writer.set(slot++, loaded.timeMs / 1_000);
    const counts = { pending: 0, firing: 0 };
    for (const { runs } of groups)
      for (const { alerting } of runs)
        for (const { state } of alerting?.active ?? []) if (state !== "inactive") counts[state]++;
    for (const state of states) writer.set(slot++, counts[state]);
    for (const group of told)
      for (const [, valueOf] of perGroup) writer.set(slot++, valueOf(group));
    return writer.finish();
  }

  #layOut(groups: readonly RuleGroupRunner[]): void {
    const names = groups.map(({ key }) => key).join("\u0000");
    if (names === this.#names) return;
    this.#names = names;
    const builder = new LayoutBuilder();
    builder.add(self.rulesReloaded, noLabels);
    builder.add(self.rulesReloadTime, noLabels);
    for (const state of states) builder.add(self.ruleAlerts, labelSet({ state }));
    for (const { key } of groups)
      for (const [metric] of perGroup) builder.add(metric, labelSet({ rule_group: key }));
    this.#layout = builder.build();
  }
}
