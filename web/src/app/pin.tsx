/** Pins a chart to a board: the menu of every chart sets the signal, and the dialog is loaded when it is first opened. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { BoardPanel } from "../../../src/view/board/board.ts";

export type PinnedChart = Omit<BoardPanel, "id">;

/** The chart to pin. */
export const pinnedChart = signal<PinnedChart | undefined>(undefined);

export function PinDialogLoader() {
  const [PinDialog, setPinDialog] = useState<ComponentType | undefined>(undefined);
  const isWanted = pinnedChart.value !== undefined;
  useEffect(() => {
    if (!isWanted || PinDialog !== undefined) return;
    import("./pin-dialog.tsx").then(
      (loaded) => setPinDialog(() => loaded.PinDialog),
      () => {
        pinnedChart.value = undefined;
      },
    );
  }, [isWanted]);
  return PinDialog === undefined ? null : <PinDialog />;
}
