/** Energy of today and its cost, with a field for the price. */
import { useState } from "preact/hooks";
import { formatFixedPoint } from "../../format/quantity.ts";
import { fleetGpus, momentMs } from "./moment.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { setPrice, useEnergy, usePrice } from "./energy.ts";
import { readPrice } from "./price.ts";
import { Figure } from "./figure.tsx";

export function EnergyFigure() {
  const { value: energy, loading } = useEnergy();
  const [open, setOpen] = useState(false);
  const set = usePrice();
  const count = fleetGpus.value.length;
  const digits =
    energy === undefined || energy.kilowattHours < 10 ? 2 : energy.kilowattHours < 1_000 ? 1 : 0;
  const cost =
    energy === undefined || set === undefined ? undefined : energy.kilowattHours * set.perKwh;
  return (
    <Figure
      label={momentMs.value === undefined ? "Energy today" : "Energy in range"}
      family="power"
      value={
        energy === undefined
          ? undefined
          : { text: formatFixedPoint(energy.kilowattHours, digits), unit: "kWh" }
      }
      waiting={loading && energy === undefined}
      tip={
        energy === undefined
          ? "No GPU reports its energy."
          : `${momentMs.value === undefined ? "Since midnight" : "Over the time range"}, as far as it is stored${energy.count < count ? `; of ${energy.count} of ${count} GPUs` : ""}.`
      }
    >
      <p class="aside cost">
        {cost !== undefined &&
          `${formatFixedPoint(cost, cost < 100 ? 2 : 0)} ${set?.currency ?? ""} `}
        <button type="button" class="link" onClick={() => setOpen(true)}>
          {set === undefined
            ? "set a price to see the cost"
            : `at ${set.perKwh} ${set.currency}`.trim()}
        </button>
      </p>
      <Dialog label="Price of energy" open={open} onClose={() => setOpen(false)}>
        <PriceForm close={() => setOpen(false)} />
      </Dialog>
    </Figure>
  );
}

function PriceForm({ close }: { close: () => void }) {
  const set = usePrice();
  const [text, setText] = useState(set === undefined ? "" : `${set.perKwh} ${set.currency}`.trim());
  const wrong = text.trim() !== "" && readPrice(text) === undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong) return;
        setPrice(text);
        close();
      }}
    >
      <h2>Price of a kilowatt-hour</h2>
      <label class="field">
        <span class="name-of">Price and currency</span>
        <input
          value={text}
          placeholder="0.30 €"
          aria-invalid={wrong}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class={wrong ? "bad" : "unit"}>
          {wrong
            ? "A number and a currency, such as 0.30 €."
            : "Stored in this browser; leave it empty to remove it."}
        </span>
      </label>
      <button type="submit" class="primary" disabled={wrong}>
        Save
      </button>
    </form>
  );
}
