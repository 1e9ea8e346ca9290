/** Dependencies of the Alertmanager API. */
import type { Router } from "../../../alerting/route/router.ts";
import type { Log } from "../../../base/log.ts";
import type { AlertQuota } from "../../limits/alert-quota.ts";
import type { AlertSink } from "../sink.ts";

export interface V2Context {
  readonly sink: AlertSink;
  /** @throws AlertmanagerApiError if external Alertmanagers route. */
  readonly router: () => Router;
  readonly quota: AlertQuota;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
  readonly startedMs: number;
}
