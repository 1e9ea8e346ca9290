/** The pages a share link may open: a page of the app with its query, never another site. */
import { pageNames } from "../page-names.ts";

const maxChars = 4_000;

/** Returns `/gpu?uuid=…` for that, for `gpu?uuid=…` and for the whole URL of a page; undefined for any other text. */
export function pagePath(given: string): string | undefined {
  if (given.length > maxChars || /[\p{Cc}\\]/u.test(given)) return undefined;
  const base = "http://gpulse.invalid/";
  if (!URL.canParse(given, base)) return undefined;
  const { pathname, search } = new URL(given, base);
  const last = pathname.slice(pathname.lastIndexOf("/") + 1);
  if (last === "" || last === "index.html") return `/${search}`;
  return pageNames.some((name) => name === last) ? `/${last}${search}` : undefined;
}
