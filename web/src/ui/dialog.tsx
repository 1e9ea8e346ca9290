/** A modal dialog: the browser traps the focus in it and returns it. A click outside closes it. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface DialogProps {
  readonly label: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Dialog({ label, open, onClose, class: own = "", children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // During the render and not after it: a key pressed in between would find a dialog that is neither open nor closed.
  useLayoutEffect(() => {
    if (open && dialog.current?.open === false) dialog.current.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${own}`}
      aria-label={label}
      onClose={() => {
        // The browser reports a close later; by then the dialog may be open again, or have been closed by this code.
        if (open && dialog.current?.open === false) onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-body">{open && children}</div>
    </dialog>
  );
}
