/** A modal dialog: the browser keeps the focus in it and gives it back. A click beside it closes it. */
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
  // With the render and not after it: between the two a key would find a dialog that is neither open nor closed.
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
        // The browser reports a close a moment later; by then it may be open again, or have been closed by us.
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
