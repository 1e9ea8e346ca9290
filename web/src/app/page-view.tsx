/** Shows the page that the address names, and loads its code when it is first opened. */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PageName } from "../../../src/hub/page-names.ts";
import { Still } from "../ui/still.tsx";
import { useLate } from "../ui/use-late.ts";
import { page } from "../view-state/address.ts";
import { routeOf } from "./routes.ts";

const loaded = new Map<PageName, ComponentType>();

/** Loads the code of a page. The hub's HTML preloads it for the page that the address names. */
export async function loadPage(name: PageName): Promise<void> {
  const found = await routeOf(name)?.load();
  if (found !== undefined) loaded.set(name, found.Page);
}

export function PageView() {
  const name = page.value;
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const [, redraw] = useState(0);
  const [problem, setProblem] = useState<PageName | undefined>(undefined);
  useEffect(() => {
    let left = false;
    if (!loaded.has(name)) {
      loadPage(name)
        .catch(() => setProblem(name))
        .finally(() => left || redraw((count) => count + 1));
    }
    // After a link is followed by keyboard or screen reader, the focus moves to the top of the new page.
    if (!first.current) {
      scrollTo({ top: 0 });
      main.current?.focus({ preventScroll: true });
    }
    first.current = false;
    return () => {
      left = true;
    };
  }, [name]);
  const Page = loaded.get(name);
  const late = useLate(Page === undefined);
  return (
    <main id="main" ref={main} tabIndex={-1} data-page={name}>
      {Page !== undefined ? (
        <Still key={name} of={Page} />
      ) : problem === name ? (
        <p class="waiting" role="alert">
          This page could not be loaded: gpulse is unreachable, or was upgraded while the page was
          open.{" "}
          <button type="button" class="link" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      ) : (
        late && <p class="waiting">Loading…</p>
      )}
    </main>
  );
}
