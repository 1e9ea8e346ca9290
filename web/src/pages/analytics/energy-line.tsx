/** Energy of the whole range and what it cost, with the price to set. */
import { formatFixedPoint } from "../../format/quantity.ts";
import type { Price } from "../fleet/price.ts";
import { setPrice } from "../fleet/energy.ts";
import { formatCost } from "./days-table.tsx";
import { aggregateHours, type Hour } from "./hours.ts";
import { Section } from "./section.tsx";

export function EnergyLine({
  hours,
  energy,
  price,
}: {
  hours: readonly Hour[];
  energy: Float64Array | undefined;
  price: Price | undefined;
}) {
  const all = hours.map((_, at) => at);
  const joules = aggregateHours(energy, all, "sum");
  const read = all.filter((at) => !Number.isNaN(energy?.[at] ?? Number.NaN)).length;
  return (
    <Section id="energy" title="Energy and cost">
      <dl class="analysis-figures">
        <div>
          <dt>Energy</dt>
          <dd>
            {joules === undefined ? (
              <span class="absent" data-tip="No energy counter in this range.">
                n/a
              </span>
            ) : (
              `${formatFixedPoint(joules / 3_600_000, 2)}\u00a0kWh`
            )}
          </dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>
            {joules === undefined || price === undefined ? (
              <span class="absent" data-tip="Set what a kilowatt-hour costs.">
                n/a
              </span>
            ) : (
              formatCost(joules, price)
            )}
          </dd>
        </div>
        <div>
          <dt>Hours with energy read</dt>
          <dd>
            {read}
            <span class="of"> / {hours.length}</span>
          </dd>
        </div>
        <div>
          <dt>
            <label for="kwh">Price of a kWh</label>
          </dt>
          <dd>
            <input
              id="kwh"
              class="input"
              placeholder="0.30 €"
              size={8}
              defaultValue={price === undefined ? "" : `${price.perKwh} ${price.currency}`.trim()}
              onChange={({ currentTarget: { value } }) => setPrice(value)}
            />
          </dd>
        </div>
      </dl>
      <p class="unit analysis-method">
        From the GPUs' own counters, and power added up by gpulse where a GPU has none. GPUs alone:
        not the machine around them.
      </p>
    </Section>
  );
}
