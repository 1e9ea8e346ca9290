/** A number with its unit, or the reason for its absence. Every figure of the page uses it. */
import type { WireValue } from "../../../src/view/live/protocol.ts";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { describeAbsence } from "../format/absence.ts";
import { toColumnQuantity } from "../format/quantity.ts";

export function Value({ value, unit, of }: { value: WireValue; unit: Unit; of?: WireValue }) {
  if (typeof value !== "number") return <Absent reason={value} />;
  const shown = toColumnQuantity(value, unit);
  return (
    <span class="value">
      {shown.text}
      {typeof of === "number" && <span class="of"> / {toColumnQuantity(of, unit).text}</span>}
      {shown.unit !== "" && <span class="unit"> {shown.unit}</span>}
    </span>
  );
}

export function Absent({ reason }: { reason: Exclude<WireValue, number> }) {
  return (
    <span
      class="absent"
      data-tip={describeAbsence(reason)}
      aria-label={`not available: ${describeAbsence(reason)}`}
    >
      n/a
    </span>
  );
}

/** A share as a bar. An absent value has no track, because an empty track would look like zero. */
export function Bar({
  ratio,
  level,
}: {
  ratio: WireValue;
  level?: "note" | "warn" | "bad" | undefined;
}) {
  if (typeof ratio !== "number") return <span class="bar none" />;
  const share = Math.min(1, Math.max(0, ratio));
  return (
    <span class="bar" data-level={level}>
      <span class="fill" style={{ transform: `scaleX(${share.toFixed(3)})` }} />
    </span>
  );
}
