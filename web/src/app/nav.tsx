/** The navigation between pages. Uses links, so that they open in a new tab too; the time range is carried along. */
import { useEffect, useRef } from "preact/hooks";
import { hrefOf, page } from "../view-state/address.ts";
import { isShared } from "../query/me.ts";
import { useWidth } from "../ui/use-size.ts";
import { routes } from "./routes.ts";

export function Nav() {
  const nav = useRef<HTMLElement>(null);
  const width = useWidth(nav);
  // On a phone the navigation scrolls sideways; this scrolls the current page into view. `scrollIntoView` would scroll the page
  // too.
  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (nav.current === null || current === null || current === undefined) return;
    const missing = current.offsetLeft + current.offsetWidth - nav.current.clientWidth;
    nav.current.scrollLeft = Math.max(0, Math.min(current.offsetLeft, missing));
  }, [page.value, width]);
  return (
    <nav ref={nav} class="nav" aria-label="Pages">
      {routes
        .filter(({ isOutsideNav }) => isOutsideNav !== true)
        .filter(({ name }) => name !== "system" || !isShared.value)
        .map(({ name, label }) => (
          <a key={name} href={hrefOf(name)} aria-current={page.value === name ? "page" : undefined}>
            {label}
          </a>
        ))}
    </nav>
  );
}
