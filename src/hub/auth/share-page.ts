/** Where a shared link may lead: a page of the app and what is chosen on it, never another site. */
import { pageNames } from "../page-names.ts";

const maxChars = 4_000;

/** `/gpu?uuid=…` out of that, `gpu?uuid=…` or the whole address of a page; undefined where it is none of ours. */
export function pagePath(given: string): string | undefined {
  if (given.length > maxChars || /[\p{Cc}\\]/u.test(given)) return undefined;
  const base = "http://gpulse.invalid/";
  if (!URL.canParse(given, base)) return undefined;
  const { pathname, search } = new URL(given, base);
  const last = pathname.slice(pathname.lastIndexOf("/") + 1);
  if (last === "" || last === "index.html") return `/${search}`;
  return pageNames.some((name) => name === last) ? `/${last}${search}` : undefined;
}
