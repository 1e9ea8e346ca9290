/** The pages: name, position in the navigation, key, and how each is loaded when it is first opened. Adding a page takes one line. */
import type { ComponentType } from "preact";
import { computed } from "@preact/signals";
import type { PageName } from "../../../src/hub/page-names.ts";
import { page } from "../view-state/address.ts";

export interface PageRoute {
  readonly name: PageName;
  readonly label: string;
  /** Pressed after `g`. */
  readonly key: string;
  /** Always shows the present, so that the time picker is hidden. */
  readonly isTimeless?: boolean;
  /** Reached only from other pages and the palette. */
  readonly isOutsideNav?: boolean;
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

export const routes: readonly PageRoute[] = [
  { name: "fleet", label: "Fleet", key: "f", load: () => import("../pages/fleet/page.tsx") },
  { name: "gpu", label: "GPU", key: "g", load: () => import("../pages/gpu/page.tsx") },
  { name: "host", label: "Host", key: "h", load: () => import("../pages/host/page.tsx") },
  { name: "jobs", label: "Jobs", key: "j", load: () => import("../pages/jobs/page.tsx") },
  { name: "serving", label: "Serving", key: "v", load: () => import("../pages/serving/page.tsx") },
  { name: "compare", label: "Compare", key: "c", load: () => import("../pages/compare/page.tsx") },
  { name: "alerts", label: "Alerts", key: "a", load: () => import("../pages/alerts/page.tsx") },
  { name: "boards", label: "Boards", key: "b", load: () => import("../pages/boards/page.tsx") },
  { name: "explore", label: "Explore", key: "e", load: () => import("../pages/explore/page.tsx") },
  {
    name: "analytics",
    label: "Analytics",
    key: "n",
    load: () => import("../pages/analytics/page.tsx"),
  },
  { name: "system", label: "System", key: "s", load: () => import("../pages/system/page.tsx") },
  {
    name: "runbooks",
    label: "Runbooks",
    key: "r",
    isTimeless: true,
    isOutsideNav: true,
    load: () => import("../pages/runbooks/page.tsx"),
  },
];

export const routeOf = (name: PageName): PageRoute | undefined =>
  routes.find((route) => route.name === name);

/** True if the current page uses the time range. */
export const usesTime = computed(() => routeOf(page.value)?.isTimeless !== true);
