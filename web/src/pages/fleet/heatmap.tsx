/** One cell per GPU on an even scale. A lost GPU is hatched, an absent value is an empty outline: never the colour of zero. */
import { Component } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Gpu } from "../../live/gpu.ts";
import { nameOf } from "../../live/gpu.ts";
import type { HeatScale } from "./heat.ts";
import { heatKeys, heatScales } from "./heat.ts";
import { sayAbsence } from "../../format/absence.ts";
import { gpus } from "../../live/feed.ts";
import { cursor, heat, selected } from "./view.ts";

/** Up to here a cell has room for its index. */
const LABELLED = 32;
/** Beyond this many GPUs a cell moves in steps of 5 %, and says "about". */
const EXACT = 256;

/** Cells shrink in steps, so that a handful can be labelled and thousands still fit on one screen. */
function sizeOf(count: number): string {
  if (count <= LABELLED) return "large";
  if (count <= EXACT) return "medium";
  return count <= 1_000 ? "small" : "tiny";
}

export function Heatmap() {
  const scale = heatScales[heat.value];
  const [focused, setFocused] = useState(0);
  const cells = useRef<HTMLDivElement>(null);
  const all = gpus.value;
  const moveFocus = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -all.length, End: all.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(all.length - 1, Math.max(0, focused + step));
    setFocused(next);
    const cell = cells.current?.children[next];
    if (cell instanceof HTMLElement) cell.focus();
  };
  return (
    <section
      class="heatmap"
      aria-label="Heatmap"
      data-family={scale.family}
      data-size={sizeOf(all.length)}
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
      <div
        class="cells"
        role="group"
        aria-label={`${scale.label} by GPU`}
        ref={cells}
        onKeyDown={moveFocus}
      >
        {all.map((gpu, at) => (
          <Cell
            key={gpu.device.uuid}
            uuid={gpu.device.uuid}
            index={all.length <= LABELLED ? gpu.device.index : undefined}
            reachable={at === Math.min(focused, all.length - 1)}
            {...cellProps(gpu, scale, all.length <= EXACT ? 1 : 5)}
          />
        ))}
      </div>
      <Legend scale={scale} />
    </section>
  );
}

interface CellProps {
  readonly uuid: string;
  readonly index: number | undefined;
  readonly kind: "told" | "lost" | "absent";
  readonly share: number | undefined;
  readonly says: string;
  readonly reachable: boolean;
}

/** Drawn again only when it looks different: of thousands of cells few change in a second. */
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
    const { uuid, index, kind, share, says, reachable } = this.props;
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
          cursor.value = uuid;
          selected.value = uuid;
        }}
      >
        {index}
      </button>
    );
  }
}

function cellProps(
  gpu: Gpu,
  scale: HeatScale,
  step: number,
): Pick<CellProps, "kind" | "share" | "says"> {
  if (gpu.state === "lost") return { kind: "lost", share: undefined, says: `${nameOf(gpu)}: lost` };
  const ratio = scale.ratio(gpu);
  if (typeof ratio !== "number") {
    return { kind: "absent", share: undefined, says: `${nameOf(gpu)}: n/a. ${sayAbsence(ratio)}` };
  }
  const share = Math.round((100 * Math.min(1, Math.max(0, ratio))) / step) * step;
  return { kind: "told", share, says: `${nameOf(gpu)}: ${scale.say(gpu, step)}` };
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
