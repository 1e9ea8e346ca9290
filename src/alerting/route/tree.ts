/** Returns the routes that an alert takes: the deepest matching ones, in the order of the file. */
import type { Route } from "./config.ts";
import { matchesAll } from "./matchers.ts";

export function routesFor(route: Route, labels: ReadonlyMap<string, string>): Route[] {
  if (!matchesAll(route.matchers, labels)) return [];
  const found: Route[] = [];
  for (const child of route.routes) {
    const matched = routesFor(child, labels);
    found.push(...matched);
    if (matched.length > 0 && !child.continues) break;
  }
  return found.length > 0 ? found : [route];
}

export function everyRoute(route: Route): Route[] {
  return [route, ...route.routes.flatMap(everyRoute)];
}
