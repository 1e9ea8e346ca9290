/** A sheet with all keyboard shortcuts, those of the current page first. */
import { signal } from "@preact/signals";
import { docsHref } from "../query/me.ts";
import { Dialog } from "../ui/dialog.tsx";
import { groups } from "./shortcuts.ts";

export const helpOpen = signal(false);

export function Help() {
  const close = (): void => {
    helpOpen.value = false;
  };
  return (
    <Dialog class="help" label="Keyboard help" open={helpOpen.value} onClose={close}>
      {groups.value.map(({ title, shortcuts }) => (
        <section key={title}>
          <h2>{title}</h2>
          <dl>
            {shortcuts.map(({ keys, shown, says }) => (
              <div key={says}>
                <dt>
                  {(shown ?? keys)
                    .flatMap((key) => key.split(" "))
                    .map((key, at) => (
                      <kbd key={`${key}${at}`}>{key === "Escape" ? "Esc" : key}</kbd>
                    ))}
                </dt>
                <dd>{says}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <footer>
        {docsHref.value === undefined ? null : <a href={docsHref.value}>Docs</a>}
        <button type="button" class="quiet" onClick={close}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
