/** The pages: name, place in the navigation, key, and how each is loaded when it is first opened. Adding one is one line. */
import type { ComponentType } from "preact";
import type { PageName } from "../../../src/hub/page-names.ts";

export interface PageRoute {
  readonly name: PageName;
  readonly label: string;
  /** Pressed after `g`. */
  readonly key: string;
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

export const routes: readonly PageRoute[] = [
  { name: "fleet", label: "Fleet", key: "f", load: () => import("../pages/fleet/page.tsx") },
  { name: "gpu", label: "GPU", key: "g", load: () => import("../pages/gpu/page.tsx") },
  { name: "jobs", label: "Jobs", key: "j", load: () => import("../pages/jobs/page.tsx") },
  {
    name: "serving",
    label: "Serving",
    key: "v",
    load: () => import("../pages/serving/page.tsx"),
  },
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
];

export const routeOf = (name: PageName): PageRoute | undefined =>
  routes.find((route) => route.name === name);
