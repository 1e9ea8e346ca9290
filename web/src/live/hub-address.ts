/** The address of this hub for other machines. */
import { fleet } from "./feed.ts";

/** Uses the machine's host name if the page was opened by a loopback address. */
export function hubAddress(): { readonly url: string; readonly loopback: boolean } {
  const here = new URL(".", location.href);
  const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(here.hostname);
  if (loopback) here.hostname = fleet.value?.host ?? here.hostname;
  return { url: here.href.replace(/\/$/, ""), loopback };
}
