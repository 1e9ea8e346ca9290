/** Tabs of a page. Links, so that each tab has an address and the back button works. */
import type { PageName } from "../../../src/hub/page-names.ts";
import { hrefOf } from "../view-state/address.ts";

export interface TabsProps<Name extends string> {
  readonly page: PageName;
  readonly label: string;
  readonly chosen: Name;
  /** The first tab is the one without a parameter. */
  readonly tabs: readonly {
    readonly name: Name;
    readonly label: string;
    readonly count?: number | undefined;
    readonly level?: "warn" | "bad" | undefined;
  }[];
}

export function Tabs<Name extends string>({ page, label, chosen, tabs }: TabsProps<Name>) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab, at) => (
        <a
          key={tab.name}
          href={hrefOf(page, at === 0 ? {} : { tab: tab.name })}
          aria-current={chosen === tab.name ? "page" : undefined}
        >
          {tab.label}
          {tab.count !== undefined && tab.count > 0 && (
            <span class="count" data-level={tab.level}>
              {tab.count}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}
