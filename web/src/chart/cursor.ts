/** The instant pointed at, shared by every chart and timeline of the page. */
import { signal } from "@preact/signals";

export interface ChartCursor {
  readonly ms: number;
  /** Which chart it comes from; only that one shows a tooltip. */
  readonly from: object;
  /** Moved by keys: the plot has no pointer over it and must be updated. */
  readonly keys?: boolean;
}

export const cursor = signal<ChartCursor | undefined>(undefined);
