/** Energy of the whole range with its cost and emissions: the only energy figure of the page. */
import { signal } from "@preact/signals";
import { formatFixedPoint } from "../../format/quantity.ts";
import type { Price } from "../fleet/price.ts";
import { setPrice } from "../fleet/energy.ts";
import { formatCost } from "./days-table.tsx";
import { aggregateHours, type Hour } from "./hours.ts";
import { readStoredText, writeStoredText } from "../../view-state/preferences.ts";
import { Section } from "./section.tsx";

const JOULES_PER_KWH = 3_600_000;
const gramsPerKwh = signal(readStoredText("co2") ?? "");

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
  const grams = /^\d+(\.\d+)?$/.test(gramsPerKwh.value) ? Number(gramsPerKwh.value) : undefined;
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
              `${formatFixedPoint(joules / JOULES_PER_KWH, 2)}\u00a0kWh`
            )}
          </dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>
            {joules === undefined || price === undefined ? (
              <span class="absent" data-tip="Set the price of a kilowatt-hour.">
                n/a
              </span>
            ) : (
              formatCost(joules, price)
            )}
          </dd>
        </div>
        <div>
          <dt>CO₂</dt>
          <dd>
            {joules === undefined || grams === undefined ? (
              <span class="absent" data-tip="Set the emissions of a kilowatt-hour.">
                n/a
              </span>
            ) : (
              `${formatFixedPoint(((joules / JOULES_PER_KWH) * grams) / 1_000, 2)}\u00a0kg`
            )}
          </dd>
        </div>
        <div>
          <dt>Hours with energy data</dt>
          <dd>
            {read}
            <span class="of"> / {hours.length}</span>
          </dd>
        </div>
        <div>
          <dt>
            <label for="kwh">Price per kWh</label>
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
        <div>
          <dt>
            <label for="co2">CO₂ of a kWh</label>
          </dt>
          <dd>
            <input
              id="co2"
              class="input"
              inputMode="decimal"
              placeholder="363 g"
              size={8}
              defaultValue={gramsPerKwh.value}
              onChange={({ currentTarget: { value } }) => {
                gramsPerKwh.value = value.replace(",", ".").replace(/\s*g$/, "").trim();
                writeStoredText("co2", gramsPerKwh.value);
              }}
            />
          </dd>
        </div>
      </dl>
      <p class="unit analysis-method">
        From the energy counters of the GPUs; without a counter, from power integrated by gpulse;
        without either, from stored power samples. GPUs only, without the rest of the machine.
      </p>
    </Section>
  );
}
