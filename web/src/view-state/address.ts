/**
 * The address contains the whole view: the page, and all selections on it. Links, reloads and the back button restore it, and it is
 * stored nowhere else.
 */
import { computed, signal } from "@preact/signals";
import { type TimeWindow, writeRange } from "./range.ts";
import { type PageName, pageNames } from "../../../src/hub/page-names.ts";

export interface Address {
  readonly page: PageName;
  /** Empty, or `?…`. */
  readonly query: string;
}

/** Parameters that are carried from page to page: the time range. */
const carried = ["range", "from", "to", "refresh"] as const;

/** How a change enters the browser history: as a new entry, or in place. */
export type HistoryMode = "push" | "replace";

const RETRY_MS = 1_000;

export const address = signal<Address>(readAddress());
export const page = computed(() => address.value.page);
export const query = computed(() => new URLSearchParams(address.value.query));

export type UrlParams = Readonly<Record<string, string | undefined>>;

/** A link within the app: relative, with the current time range unless `params` sets another. */
export function hrefOf(to: PageName, params: UrlParams = {}): string {
  const next = new URLSearchParams();
  const ownTime = carried.some((name) => name in params);
  for (const name of carried) {
    const value = query.value.get(name);
    if (value !== null && (!ownTime || name === "refresh")) next.set(name, value);
  }
  return pathOf(to) + searchOf(withParams(next, params));
}

/** The full address of this view with its time fixed, so that it always shows the same data. */
export function frozenHref({ fromMs, toMs }: TimeWindow): string {
  const params = new URLSearchParams(address.peek().query);
  params.delete("refresh");
  const search = searchOf(withParams(params, { ...writeRange({ kind: "between", fromMs, toMs }) }));
  return new URL(pathOf(address.peek().page) + search, location.href).href;
}

export function goTo(to: PageName, params: UrlParams = {}): void {
  const search = new URL(hrefOf(to, params), location.href).search;
  write({ page: to, query: search }, "push");
}

/** Changes some parameters of the current page; undefined removes one. */
export function setParams(changes: UrlParams, entry: HistoryMode): void {
  const now = address.peek();
  const next = searchOf(withParams(new URLSearchParams(now.query), changes));
  if (next !== now.query) write({ page: now.page, query: next }, entry);
}

export function startAddress(): void {
  addEventListener("popstate", () => {
    address.value = readAddress();
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || !isPlain(event, link)) return;
    const to = inApp(new URL(link.href));
    if (to === undefined) return;
    event.preventDefault();
    write(to, "push");
  });
}

/** A click for another tab, another window or a download is left to the browser. */
const isPlain = (event: MouseEvent, link: HTMLAnchorElement): boolean =>
  event.button === 0 &&
  !event.defaultPrevented &&
  !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) &&
  (link.target === "" || link.target === "_self") &&
  !link.hasAttribute("download");

function inApp(url: URL): Address | undefined {
  const folder = new URL(".", location.href);
  if (url.origin !== folder.origin || !url.pathname.startsWith(folder.pathname)) return undefined;
  const named = pageOf(url.pathname.slice(folder.pathname.length));
  return named === undefined || url.hash !== "" ? undefined : { page: named, query: url.search };
}

function pageOf(last: string): PageName | undefined {
  if (last === "" || last === "index.html") return "fleet";
  return pageNames.find((name) => name === last);
}

function readAddress(): Address {
  const last = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
  return { page: pageOf(last) ?? "fleet", query: location.search };
}

const pathOf = (to: PageName): string => (to === "fleet" ? "./" : `./${to}`);

let retry: ReturnType<typeof setTimeout> | undefined;

function write(next: Address, entry: HistoryMode): void {
  address.value = next;
  clearTimeout(retry);
  const url = pathOf(next.page) + next.query;
  try {
    if (entry === "push") history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  } catch {
    // Browsers limit how often the address may change: the view continues, and the address follows later.
    retry = setTimeout(() => write(address.peek(), "replace"), RETRY_MS);
  }
}

function withParams(params: URLSearchParams, changes: UrlParams): URLSearchParams {
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) params.delete(name);
    else params.set(name, value);
  }
  return params;
}

/** Colons, commas and slashes are allowed in a query and are more readable unescaped. */
function searchOf(params: URLSearchParams): string {
  const text = params
    .toString()
    .replaceAll("%3A", ":")
    .replaceAll("%2C", ",")
    .replaceAll("%2F", "/");
  return text === "" ? "" : `?${text}`;
}
