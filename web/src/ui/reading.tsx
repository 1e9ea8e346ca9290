/** A reading with everything that makes it one: unit, age and source for who points at it, or the reason it is not there. */
import type { WireValue } from "../../../src/view/live/protocol.ts";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { age } from "../format/quantity.ts";
import { Value } from "./value.tsx";

export interface ReadingProps {
  readonly value: WireValue;
  readonly unit: Unit;
  /** What it is measured against: a limit, a total. */
  readonly of?: WireValue;
  readonly source?: string | undefined;
  /** Undefined where nobody knows it. */
  readonly ageMs?: number | undefined;
  /** What the metric means. */
  readonly help?: string | undefined;
}

export function Reading({ value, unit, of, source, ageMs, help }: ReadingProps) {
  const from = [source, ageMs === undefined ? undefined : `${age(ageMs)} ago`].filter(
    (part) => part !== undefined,
  );
  const tip = [help, from.join(" · ")].filter((part) => part !== undefined && part !== "");
  const shown = <Value value={value} unit={unit} {...(of === undefined ? {} : { of })} />;
  return typeof value === "number" && tip.length > 0 ? (
    <span data-tip={tip.join("\n")}>{shown}</span>
  ) : (
    shown
  );
}
