/** The totals of the fleet in one line of figures. */
import { type Totals, totalsOf } from "./totals.ts";
import { ACTIVE_FROM_RATIO, nameOf, temperatureRatio } from "../../../../src/view/gpu.ts";
import { temperatureLevel } from "../../../../src/view/gpu-status.ts";
import {
  formatFixedPoint,
  toColumnQuantity,
  toTotalQuantity,
  formatWithUnit,
} from "../../format/quantity.ts";
import { severalHosts } from "../../query/known-gpus.ts";
import { fleetGpus } from "./moment.ts";
import { Bar } from "../../ui/value.tsx";
import { EnergyFigure } from "./energy-figure.tsx";
import { Figure } from "./figure.tsx";

export function TotalsLine() {
  const totals = totalsOf(fleetGpus.value);
  return (
    <section class="totals" aria-label="Fleet totals">
      <Gpus totals={totals} />
      <Utilisation totals={totals} />
      <Power totals={totals} />
      <Memory totals={totals} />
      <Hottest totals={totals} />
      <EnergyFigure />
    </section>
  );
}

function Gpus({ totals: { gpus: count, states } }: { totals: Totals }) {
  const parts = (["active", "idle", "asleep", "unknown"] as const).filter(
    (state) => states[state] > 0,
  );
  const missing = (["silent", "lost"] as const).filter((state) => states[state] > 0);
  return (
    <Figure
      label="GPUs"
      family="count"
      value={{ text: formatFixedPoint(count, 0), unit: "" }}
      tip={`Active: utilisation of ${ACTIVE_FROM_RATIO * 100} % or more.`}
    >
      <Bar ratio={states.active / count} />
      <p class="aside">
        {parts.map((state, at) => (
          <span key={state}>
            {at > 0 && <span class="unit"> · </span>}
            {formatFixedPoint(states[state], 0)} {state}
          </span>
        ))}
        {missing.map((state) => (
          <span key={state} class={state === "lost" ? "bad" : "warn"}>
            {parts.length > 0 && <span class="unit"> · </span>}
            {formatFixedPoint(states[state], 0)} {state}
          </span>
        ))}
      </p>
    </Figure>
  );
}

function Utilisation({ totals: { utilization, gpus: count } }: { totals: Totals }) {
  return (
    <Figure
      label="Mean utilisation"
      family="utilization"
      value={utilization === undefined ? undefined : toColumnQuantity(utilization.mean, "ratio")}
    >
      <Bar ratio={utilization?.mean ?? "stale"} />
      <p class="aside">
        {utilization?.count === count
          ? count === 1
            ? "of the GPU"
            : "of all GPUs"
          : `of ${formatGpuCount(utilization?.count ?? 0, count)}`}
      </p>
    </Figure>
  );
}

function Power({ totals: { power, powerOfLimit, gpus: count } }: { totals: Totals }) {
  return (
    <Figure
      label="Power"
      family="power"
      value={power === undefined ? undefined : toTotalQuantity(power.watts, "watts")}
    >
      <Bar ratio={powerOfLimit === undefined ? "stale" : powerOfLimit.sum / powerOfLimit.of} />
      <p class="aside">
        {powerOfLimit === undefined
          ? "no limit reported"
          : `of ${formatWithUnit(toTotalQuantity(powerOfLimit.of, "watts"))}${power?.count === count ? " limit" : ""}`}
        <Missing reported={power?.count ?? 0} count={count} />
      </p>
    </Figure>
  );
}

function Memory({ totals: { memory, gpus: count } }: { totals: Totals }) {
  return (
    <Figure
      label="Memory"
      family="memory"
      value={memory === undefined ? undefined : toTotalQuantity(memory.sum, "bytes")}
    >
      <Bar ratio={memory === undefined ? "stale" : memory.sum / memory.of} />
      <p class="aside">
        {memory === undefined
          ? "no total reported"
          : `of ${formatWithUnit(toTotalQuantity(memory.of, "bytes"))}`}
        <Missing reported={memory?.count ?? 0} count={count} />
      </p>
    </Figure>
  );
}

/** States the number of GPUs in a sum if it is less than the number listed. */
const Missing = ({ reported, count }: { reported: number; count: number }) =>
  reported === count || reported === 0 ? null : <> · {formatGpuCount(reported, count)}</>;

const formatGpuCount = (reported: number, count: number): string =>
  `${formatFixedPoint(reported, 0)} of ${formatFixedPoint(count, 0)} GPUs`;

function Hottest({ totals: { hottest } }: { totals: Totals }) {
  if (hottest === undefined)
    return <Figure label="Hottest" family="temperature" value={undefined} />;
  const { gpu, celsius, margin } = hottest;
  const level = temperatureLevel(gpu);
  return (
    <Figure
      label="Hottest"
      family="temperature"
      value={toColumnQuantity(celsius, "celsius")}
      tip={`${nameOf(gpu)}: the nearest to the temperature at which it slows down.`}
    >
      <Bar ratio={temperatureRatio(gpu)} level={level} />
      <p class="aside">
        {margin !== undefined && (
          <>
            <span class={level}>
              {margin > 0
                ? `${formatWithUnit(toColumnQuantity(margin, "celsius"))} below its limit`
                : "at its limit"}
            </span>
            {" · "}
          </>
        )}
        {severalHosts.value ? `${gpu.device.host} ` : ""}#{gpu.device.index}
      </p>
    </Figure>
  );
}
