/** Opens the command palette, and loads its code when it is first opened. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";

export const paletteOpen = signal(false);

export interface PaletteProps {
  readonly close: () => void;
}

export function PaletteLoader() {
  const [Palette, setPalette] = useState<ComponentType<PaletteProps> | undefined>(undefined);
  const open = paletteOpen.value;
  useEffect(() => {
    if (!open || Palette !== undefined) return;
    import("./palette.tsx").then(
      (loaded) => setPalette(() => loaded.Palette),
      () => {
        paletteOpen.value = false;
      },
    );
  }, [open]);
  const close = (): void => {
    paletteOpen.value = false;
  };
  return (
    <Dialog class="palette" label="Search" open={open && Palette !== undefined} onClose={close}>
      {Palette !== undefined && <Palette close={close} />}
    </Dialog>
  );
}
