/** Targets that an HTTP endpoint lists as JSON. Bounded; after an unusable response the last good groups are retained. */
import { HttpClient } from "../../../net/http/client.ts";
import { request, formatUrl } from "../../../net/http/request.ts";
import { formatError } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import type { HttpDiscovery } from "../config/types.ts";
import {
  type DiscoveredGroup,
  type Discovery,
  readGroups,
  createRefreshingDiscovery,
} from "./group.ts";

const maxBytes = 64 * 1024 * 1024;
const timeoutMs = 60_000;

export function httpDiscovery(config: HttpDiscovery, log: Log, version: string): Discovery {
  const client = new HttpClient(config.http);
  const place = formatUrl(new URL(config.url));
  let last = "";
  const find = async (signal: AbortSignal): Promise<readonly DiscoveredGroup[] | undefined> => {
    try {
      const text = await fetchJson(config, client, version, signal);
      if (text === last) return undefined;
      const groups = readGroups(JSON.parse(text), (index) => `${config.url}:${index}`, {
        __meta_url: config.url,
      });
      last = text;
      return groups;
    } catch (thrown) {
      if (!signal.aborted)
        log.warn("HTTP discovery failed, keeping the last targets", {
          url: place,
          error: formatError(thrown),
        });
      return undefined;
    }
  };
  const refresh = createRefreshingDiscovery(config.refreshIntervalMs, find);
  return {
    start: (emit) => refresh.start(emit),
    close() {
      refresh.close();
      client.close();
    },
  };
}

async function fetchJson(
  config: HttpDiscovery,
  client: HttpClient,
  version: string,
  signal: AbortSignal,
): Promise<string> {
  const { headers, ...options } = await client.options();
  const answer = await request(config.url, {
    ...options,
    headers: {
      accept: "application/json",
      "user-agent": `gpulse/${version}`,
      "x-prometheus-refresh-interval-seconds": String(config.refreshIntervalMs / 1_000),
      ...headers,
    },
    timeoutMs,
    maxBytes,
    signal,
  });
  if (answer.status !== 200) throw new Error(`it answered with status ${answer.status}`);
  const type = answer.headers["content-type"] ?? "";
  if (!/^application\/json(;\s*charset=("utf-8"|utf-8))?$/i.test(type))
    throw new Error(`it answered with content type "${type.slice(0, 100)}", not application/json`);
  return answer.body.toString("utf8");
}
