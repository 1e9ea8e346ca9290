/**
 * The data that the hub inlines in a page's HTML as JSON, so that the first view is drawn without another request. The browser app
 * reads this file too: types, constants and pure functions only.
 */
import type { AlertSummary } from "./alert-summary.ts";
import type { WireFleetColumns } from "./live/fleet-columns.ts";
import type { WireDevice } from "./live/protocol.ts";

/** The id of the `<script type="application/json">` element. */
export const FIRST_LOAD_ID = "first-load";

export interface FirstLoad {
  readonly fleet: WireFleetColumns;
  /** Needed for the first drawing, so that no banner moves the page later. Absent if the hub evaluates no rules. */
  readonly alerts?: AlertSummary;
  /** On the GPU page: the GPU in the address, over the range in the address. */
  readonly gpu?: GpuWindow;
}

/** The result of the range query `{matchers}`: every series of one GPU on the grid `startMs`, `startMs + stepMs`, … `endMs`. */
export interface GpuWindow {
  readonly matchers: string;
  readonly rangeMs: number;
  /** The hub's time, the right edge of the range. */
  readonly nowMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly series: readonly {
    readonly labels: Readonly<Record<string, string>>;
    /** One value per step: null without a sample, a string such as `+Inf` for values that JSON cannot represent. */
    readonly values: readonly (number | string | null)[];
  }[];
}

/** Matchers of one GPU's series. Series without a host label are matched by uuid alone. */
export const matchersOf = ({ host, uuid }: Pick<WireDevice, "host" | "uuid">): string =>
  `uuid=${JSON.stringify(uuid)},host=~"${escapeMatcher(host)}|"`;

/** Escapes text for a regular expression inside a quoted PromQL string. */
export const escapeMatcher = (text: string): string =>
  text.replaceAll(/[\\^$.*+?()[\]{}|"]/g, String.raw`\\$&`);
