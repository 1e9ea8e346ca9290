/** Keys and filter words on one small sheet. */
import { useEffect, useRef } from "preact/hooks";
import { keyHelp } from "../page/keys.ts";
import { helpOpen } from "../page/view.ts";

const filterHelp: readonly (readonly [string, string])[] = [
  ["h200 train", "rows that hold both words"],
  ["#3", "the GPU with that index"],
  ["lost, idle, thermal", "by state"],
  ["util>50 temp>=80", "by value: util, mem, power, temp, clock, fan"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  const close = (): void => {
    helpOpen.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-label="Keyboard help"
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <h2>Keys</h2>
      <dl>
        {keyHelp.map(({ keys, says }) => (
          <div key={says}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
      <h2>Filter</h2>
      <dl>
        {filterHelp.map(([text, says]) => (
          <div key={text}>
            <dt>
              <code>{text}</code>
            </dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="quiet" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
