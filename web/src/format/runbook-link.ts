/** Links an alert's `runbook_url`: the hub's own runbooks are a page of this app. */
import { hrefOf } from "../view-state/address.ts";
import { webLink } from "./link.ts";

/**
 * Returns the alert of `https://hub/runbook/gpuhot`, `runbook/gpuhot` or `docs/runbook/README.md#gpuhot`; undefined for other
 * addresses.
 */
const runbookAlert = (url: string | undefined): string | undefined =>
  /(?:^|\/)(?:runbook\/|docs\/runbook\/[\w-]+\.md#)([\w-]+)$/.exec(url ?? "")?.[1]?.toLowerCase();

/** Undefined for an address that may not be linked. */
export function runbookHref(url: string | undefined): string | undefined {
  const alert = runbookAlert(url);
  return alert === undefined ? webLink(url) : hrefOf("runbooks", { alert });
}
