/** The way from page to page. Links, so that they open in a tab of their own too; the time range goes along. */
import { hrefOf, page } from "../view-state/address.ts";
import { isShared } from "../query/me.ts";
import { routes } from "./routes.ts";

export function Nav() {
  return (
    <nav class="nav" aria-label="Pages">
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
