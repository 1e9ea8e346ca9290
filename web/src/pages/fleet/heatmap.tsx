/** One cell per GPU on an even scale. A lost GPU is hatched, an absent value is an empty outline: never the colour of zero. */
import { Component } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { formatWithUnit, toTotalQuantity } from "../../format/quantity.ts";
import { hrefOf } from "../../view-state/address.ts";
import { type GpuGroup, summarizeGroup } from "./group.ts";
import { formatGroupTotals } from "./group-row.tsx";
import { heatKeys, type HeatScale, heatScales } from "./heat.ts";
import { fleetGpus } from "./moment.ts";
import { describeCell, type HeatShade, heatShade } from "./heat-cell.ts";
import { HeatCanvas } from "./heat-canvas.tsx";
import { by, cursor, groups, heat, selected } from "./view.ts";

/** Up to this number a cell is a button with room for its index; more cells are drawn on a canvas. */
const LABELLED = 32;

/** Cells shrink in steps, so that a few can be labelled and thousands still fit on one screen. */
function sizeOf(count: number): string {
  if (count <= LABELLED) return "large";
  if (count <= 256) return "medium";
  return count <= 1_000 ? "small" : "tiny";
}

const cellsPx: Readonly<Record<string, number>> = { medium: 18, small: 14, tiny: 10 };

/** Beyond this number of groups, their names would take more space than their cells. */
const MOST_NAMED_GROUPS = 64;

export function Heatmap() {
  const scale = heatScales[heat.value];
  const count = fleetGpus.value.length;
  const size = sizeOf(count);
  const named = by.value !== "" && groups.value.length <= MOST_NAMED_GROUPS;
  const all = groups.value.flatMap((group) => group.gpus);
  return (
    <section
      class="heatmap"
      aria-label="Heatmap"
      data-family={scale.family}
      data-size={size}
      data-grouped={named ? "" : undefined}
    >
      <fieldset class="choice">
        <legend class="unseen">Reading shown in the heatmap</legend>
        {heatKeys.map((key) => (
          <button
            key={key}
            type="button"
            aria-pressed={heat.value === key}
            onClick={() => {
              heat.value = key;
            }}
          >
            {heatScales[key].label}
          </button>
        ))}
      </fieldset>
      {named ? (
        <div class="heat-groups">
          {groups.value.map((group) => (
            <HeatGroup key={group.name} {...{ group, scale, size }} />
          ))}
        </div>
      ) : (
        <Cells gpus={all} scale={scale} size={size} />
      )}
      <Legend scale={scale} />
    </section>
  );
}

function HeatGroup({ group, scale, size }: { group: GpuGroup; scale: HeatScale; size: string }) {
  const { name, gpus } = group;
  const summary = summarizeGroup(group);
  const totals = formatGroupTotals(summary);
  return (
    <div class="heat-group">
      <p data-tip={[name, ...totals].join("\n")}>
        {by.value === "host" ? <a href={hrefOf("host", { host: name })}>{name}</a> : name}{" "}
        <span class="unit">
          {gpus.length === 1 ? "1 GPU" : `${gpus.length} GPUs`}
          {summary.powerWatts !== undefined &&
            ` · ${formatWithUnit(toTotalQuantity(summary.powerWatts, "watts"))}`}
        </span>
        {summary.lost > 0 && " "}
        {summary.lost > 0 && <span class="word bad">{summary.lost} lost</span>}
      </p>
      <Cells gpus={gpus} scale={scale} size={size} of={name} />
    </div>
  );
}

interface CellsProps {
  readonly gpus: readonly Gpu[];
  readonly scale: HeatScale;
  readonly size: string;
  /** Name of the group. */
  readonly of?: string;
}

function Cells({ gpus, scale, size, of }: CellsProps) {
  const [focused, setFocused] = useState(0);
  const cells = useRef<HTMLDivElement>(null);
  const label = `${scale.label} by GPU${of === undefined ? "" : `, ${of}`}`;
  const cellPx = cellsPx[size];
  if (cellPx !== undefined)
    return <HeatCanvas gpus={gpus} scale={scale} cellPx={cellPx} label={label} />;
  const moveFocus = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -gpus.length, End: gpus.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(gpus.length - 1, Math.max(0, focused + step));
    setFocused(next);
    const cell = cells.current?.children[next];
    if (cell instanceof HTMLElement) cell.focus();
  };
  return (
    <div class="cells" role="group" aria-label={label} ref={cells} onKeyDown={moveFocus}>
      {gpus.map((gpu, at) => (
        <Cell
          key={gpu.id}
          id={gpu.id}
          index={gpu.device.index}
          reachable={at === Math.min(focused, gpus.length - 1)}
          {...heatShade(gpu, scale, 1)}
          says={describeCell(gpu, scale)}
        />
      ))}
    </div>
  );
}

interface CellProps extends HeatShade {
  readonly says: string;
  readonly id: string;
  readonly index: number;
  readonly reachable: boolean;
}

/** Redrawn only if its appearance changes: of thousands of cells few change in a second. */
class Cell extends Component<CellProps> {
  override shouldComponentUpdate(next: CellProps): boolean {
    const { says, share, kind, reachable, index } = this.props;
    return (
      next.says !== says ||
      next.share !== share ||
      next.kind !== kind ||
      next.reachable !== reachable ||
      next.index !== index
    );
  }

  override render() {
    const { id, index, kind, share, says, reachable } = this.props;
    return (
      <button
        type="button"
        class="cell"
        data-kind={kind}
        data-dark={share !== undefined && share >= 55 ? "" : undefined}
        style={share === undefined ? undefined : { "--share": `${share}%` }}
        tabIndex={reachable ? 0 : -1}
        aria-label={says}
        data-tip={says}
        onClick={() => {
          cursor.value = id;
          selected.value = id;
        }}
      >
        {index}
      </button>
    );
  }
}

function Legend({ scale }: { scale: HeatScale }) {
  return (
    <div class="legend" aria-hidden="true">
      <span>{scale.from}</span>
      <span class="ramp">
        {[0, 20, 40, 60, 80, 100].map((share) => (
          <i key={share} style={{ "--share": `${share}%` }} />
        ))}
      </span>
      <span>{scale.to}</span>
    </div>
  );
}
