/** The details of one GPU: its identity, and its last five minutes with the device's own limits. */
import type { HistoryKey, WireValue } from "../../../../src/view/live/protocol.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import {
  findGpu,
  type Gpu,
  memoryRatio,
  nameOf,
  powerLimit,
  read,
  temperature,
} from "../../../../src/view/gpu.ts";
import { toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import { HISTORY_SECONDS } from "../../../../src/view/live/history.ts";
import { curves, fleetGpus, momentMs } from "./moment.ts";
import { hrefOf } from "../../view-state/address.ts";
import { selected } from "./view.ts";
import { linePath, summarizePoints } from "./spark-path.ts";
import { Value } from "../../ui/value.tsx";

export function Inspector() {
  const gpu = selected.value === undefined ? undefined : findGpu(fleetGpus.value, selected.value);
  if (gpu === undefined) return null;
  const power = powerLimit(gpu);
  const slowdown = gpu.device.facts.limitSlowdown;
  return (
    <aside class="inspector" aria-label={`Details of ${nameOf(gpu)}`}>
      <div class="who">
        <h2>{nameOf(gpu)}</h2>
        <span class="unit">
          {momentMs.value === undefined ? "last five minutes" : "five minutes before this moment"}
        </span>
        <a href={hrefOf("gpu", { uuid: gpu.id })}>All about this GPU</a>
        <a href={hrefOf("host", { host: gpu.device.host })}>Its host</a>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            selected.value = undefined;
          }}
        >
          Close<span class="unseen"> the details</span> <kbd aria-hidden="true">Esc</kbd>
        </button>
      </div>
      <Identity gpu={gpu} />
      <div class="charts">
        <Chart
          gpu={gpu}
          label="Utilisation"
          family="utilization"
          metric="utilization"
          unit="ratio"
          now={read(gpu, "utilization")}
          top={1}
        />
        <Chart
          gpu={gpu}
          label="Memory"
          family="memory"
          metric="memoryUsedRatio"
          unit="ratio"
          now={memoryRatio(gpu)}
          top={1}
        />
        <Chart
          gpu={gpu}
          label="Power"
          family="power"
          metric="power"
          unit="watts"
          now={read(gpu, "power")}
          limit={power}
        />
        <Chart
          gpu={gpu}
          label="Temperature"
          family="temperature"
          metric="temperatureEdge"
          unit="celsius"
          now={temperature(gpu)}
          limit={slowdown}
          bottom={20}
        />
      </div>
    </aside>
  );
}

function Identity({ gpu: { device, row } }: { gpu: Gpu }) {
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["uuid", device.uuid],
    ["host", device.host],
    ["PCI", device.pciBusId],
    ["driver", device.driver],
    ["firmware", device.vbios],
    ["source", device.source],
    ["job", row.job],
    ["user", row.user],
  ];
  return (
    <dl>
      {facts.map(([label, value]) =>
        value === undefined ? null : (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

interface ChartProps {
  readonly gpu: Gpu;
  readonly label: string;
  readonly family: string;
  readonly metric: HistoryKey;
  readonly unit: Unit;
  readonly now: WireValue;
  /** The device's own limit, drawn as a dashed line. */
  readonly limit?: WireValue;
  readonly top?: number;
  /** The value at the lower edge; 0 by default. */
  readonly bottom?: number;
}

const [WIDTH, HEIGHT] = [300, 72];

function Chart({ gpu, label, family, metric, unit, now, limit, top, bottom = 0 }: ChartProps) {
  const { history, endSecond } = curves.value;
  const points = history.read(gpu.id, metric, endSecond, HISTORY_SECONDS);
  const summary = summarizePoints(points);
  const limitNow = typeof limit === "number" ? limit : undefined;
  const max = top ?? Math.max((limitNow ?? 0) * 1.08, summary?.max ?? 1);
  const path = linePath(points, {
    width: WIDTH,
    height: HEIGHT,
    min: bottom,
    max,
    endSecond,
  });
  const limitY =
    limitNow === undefined ? undefined : HEIGHT * (1 - (limitNow - bottom) / (max - bottom));
  const short = (value: number): string => toColumnQuantity(value, unit).text;
  return (
    <figure data-family={family}>
      <figcaption>
        {label} <Value value={now} unit={unit} />
      </figcaption>
      <svg
        viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}, last five minutes`}
      >
        <path class="axis" d={`M0 ${HEIGHT}H${WIDTH}`} />
        {limitY !== undefined && <path class="limit" d={`M0 ${limitY.toFixed(1)}H${WIDTH}`} />}
        <path class="line" d={path} />
      </svg>
      <p class="unit">
        {summary === undefined ? (
          "no reading yet"
        ) : (
          <span>
            min {short(summary.min)} · <span class="mean">mean {short(summary.mean)} · </span>
            max {short(summary.max)}
          </span>
        )}
        {limitNow !== undefined && (
          <span class="limit-text">limit {formatWithUnit(toColumnQuantity(limitNow, unit))}</span>
        )}
      </p>
    </figure>
  );
}
