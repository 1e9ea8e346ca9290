/** Opens a Loki target from its options: the push API's address and the credentials. */
import { Secret } from "../../net/http/secret.ts";
import { bareUrl, httpConfigOf, targetOf } from "../samples-options.ts";
import type { LokiUrlOptions, TargetContext } from "./define.ts";
import { LokiTarget } from "./loki.ts";

const pushPath = "/loki/api/v1/push";

export function openLoki(
  scheme: "http" | "https",
  options: LokiUrlOptions,
  context: TargetContext,
): LokiTarget {
  const target = targetOf(scheme, options);
  if (target.pathname === "/") target.pathname = pushPath;
  const http = httpConfigOf(target, options);
  const tenant = options.tenant;
  return new LokiTarget({
    url: bareUrl(target),
    shown: `loki+${scheme}://${target.host}`,
    timeoutMs: options.timeout,
    http: {
      ...http,
      headers: [
        ...http.headers,
        ...(tenant === undefined
          ? []
          : [{ name: "X-Scope-OrgID", values: [], secrets: [new Secret(tenant)], files: [] }]),
      ],
    },
    version: context.version,
    nowMs: context.nowMs,
    job: options.job,
    labels: options.labels,
    structuredMetadata: options.structured_metadata,
  });
}
