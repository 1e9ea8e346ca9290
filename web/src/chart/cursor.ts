/** The instant under the cursor, shared by every chart and timeline of the page. */
import { signal } from "@preact/signals";

export interface ChartCursor {
  readonly ms: number;
  /** The chart with the pointer; only that one shows a tooltip. */
  readonly from: object;
  /** True if moved by keys: then the plot has no pointer over it and must be updated. */
  readonly keys?: boolean;
}

export const cursor = signal<ChartCursor | undefined>(undefined);
