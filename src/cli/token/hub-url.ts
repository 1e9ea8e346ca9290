/** The hub's URL in printed lines and links for other machines. */
import { hostname } from "node:os";
import type { Settings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";

/** The value of `--url`; undefined if not given. */
export function readUrl(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol))
    return given.replace(/\/+$/, "");
  throw new GpulseError(
    "USAGE",
    `--url must be a URL such as https://hub.example:9410, not "${given.slice(0, 200)}".`,
  );
}

/** The configured external URL, or the most likely URL for other machines; `--url` overrides it. */
export function hubUrl({ listen: { host, port }, web, access, alerting }: Settings): string {
  if (alerting.externalUrl !== undefined) return alerting.externalUrl.replace(/\/+$/, "");
  const secure = web.tls !== undefined || web.configFile !== undefined || access.behindProxy;
  const anywhere = ["0.0.0.0", "::", "127.0.0.1", "::1", "localhost"].includes(host);
  const name = anywhere ? hostname() : host.includes(":") ? `[${host}]` : host;
  return `${secure ? "https" : "http"}://${name}:${port}`;
}
