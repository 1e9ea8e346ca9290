/** Groups series by the labels of by or without. */
import type { Aggregate } from "../../ast.ts";
import { noLabels, type LabelSet } from "../../../model/labels.ts";
import { dropAll, keepOnly, signature } from "../../labels.ts";
import type { StepSeries } from "../value.ts";

export interface SeriesGroup {
  readonly labels: LabelSet;
  readonly series: StepSeries[];
}

/** Both are NaN if any parameter is. */
export function extremes(params: Float64Array): [lowest: number, highest: number] {
  return [
    params.reduce((least, value) => Math.min(least, value), Infinity),
    params.reduce((most, value) => Math.max(most, value), -Infinity),
  ];
}

export function groupsOf(expr: Aggregate, input: readonly StepSeries[]): readonly SeriesGroup[] {
  const groups = new Groups<SeriesGroup>(expr, (labels) => ({ labels, series: [] }));
  for (const one of input) groups.of(one.labels).series.push(one);
  return groups.all();
}

/** One object per group, created with the group's first series. */
export class Groups<Group> {
  private readonly without: boolean;
  private readonly names: Set<string>;
  private readonly sign: (labels: LabelSet) => string;
  private readonly make: (labels: LabelSet) => Group;
  private readonly groups = new Map<string, Group>();

  constructor({ grouping, without }: Aggregate, make: (labels: LabelSet) => Group) {
    this.without = without;
    this.names = new Set(grouping);
    this.sign = signature(grouping, !without);
    if (without) this.names.add("__name__");
    this.make = make;
  }

  of(labels: LabelSet): Group {
    const key = this.sign(labels);
    let group = this.groups.get(key);
    if (group === undefined) {
      const { names } = this;
      const common = this.without
        ? dropAll(labels, names)
        : names.size === 0
          ? noLabels
          : keepOnly(labels, names);
      this.groups.set(key, (group = this.make(common)));
    }
    return group;
  }

  /** In creation order. */
  all(): readonly Group[] {
    return [...this.groups.values()];
  }
}
