/** Tags the GPUs of a frame from thresholds, rules and outliers. It changes no values. */
import type { Delivery, Transform } from "../sink.ts";
import { type Condition, parseCondition } from "./expression.ts";
import { LayoutRows, readColumn } from "./rows.ts";
import type { Threshold } from "./thresholds.ts";
import { OutlierDetector, type OutlierOptions } from "./outliers.ts";

export interface TagOptions {
  readonly thresholds: readonly Threshold[];
  /** Maps a tag to its expression. */
  readonly rules?: Readonly<Record<string, string>>;
  /** Names of user-defined columns. */
  readonly ownColumns?: ReadonlySet<string>;
  readonly unusual?: OutlierOptions;
}

export function createTags(options: TagOptions): Transform {
  const { thresholds, rules = {}, ownColumns } = options;
  const tests: readonly (readonly [tag: string, test: Condition])[] = [
    ...thresholds.map(
      ({ tag, name, above }) => [tag, parseCondition(`${name} > ${above}`)] as const,
    ),
    ...Object.entries(rules).map(([tag, text]) => [tag, parseCondition(text, ownColumns)] as const),
  ];
  const unusual = options.unusual === undefined ? undefined : new OutlierDetector(options.unusual);
  const rows = new LayoutRows();
  return (delivery: Delivery): Delivery => {
    const { frame } = delivery;
    let tags: Map<string, readonly string[]> | undefined;
    for (const row of rows.of(frame.layout)) {
      const found: string[] = [];
      const read = (column: string): number | undefined => readColumn(frame, row, column);
      for (const [tag, test] of tests) if (test.holds(read)) found.push(tag);
      if (unusual !== undefined) found.push(...unusual.tags(row.key, read));
      if (found.length === 0) continue;
      tags ??= new Map(delivery.tags);
      // Tags from an earlier stage stay.
      tags.set(row.uuid, [...new Set([...(tags.get(row.uuid) ?? []), ...found])]);
    }
    return tags === undefined ? delivery : { ...delivery, tags };
  };
}
