/**
 * The data that the hub inlines in the HTML of a page as JSON, so that the first view is drawn without another request. The browser
 * app reads this file too: types, constants and pure functions only.
 */
import type { AlertSummary } from "./alert-summary.ts";
import type { WireDevice, WireFleet } from "./live/protocol.ts";

/** The id of the `<script type="application/json">` element. */
export const FIRST_LOAD_ID = "first-load";

export interface FirstLoad {
  readonly fleet: WireFleet;
  /** Known before the first drawing, so that no banner moves the page later. Absent from a hub that evaluates no rules. */
  readonly alerts?: AlertSummary;
  /** On the GPU page: the GPU that the address names, over the range that it names. */
  readonly gpu?: GpuWindow;
}

/** The answer to the range query `{matchers}`: every series of one GPU on the grid `startMs`, `startMs + stepMs`, … `endMs`. */
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
    /** One per instant; null without a sample, a text such as `+Inf` for what JSON has no number for. */
    readonly values: readonly (number | string | null)[];
  }[];
}

/** The matchers of one GPU's series; series without a host label are matched by uuid alone. */
export const matchersOf = ({ host, uuid }: Pick<WireDevice, "host" | "uuid">): string =>
  `uuid=${JSON.stringify(uuid)},host=~"${escapeMatcher(host)}|"`;

/** Escapes text for a regular expression inside a quoted PromQL string. */
export const escapeMatcher = (text: string): string =>
  text.replaceAll(/[\\^$.*+?()[\]{}|"]/g, String.raw`\\$&`);
