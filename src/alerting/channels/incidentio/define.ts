/** `incidentio_configs`: alert events for an alert source of incident.io. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { goTime, httpConfig, number, secret, secretFile, sendResolved } from "../fields.ts";
import { hasAuthorization, isWritten } from "../entry-context.ts";

export const incidentio = defineChannel({
  name: "incidentio",
  title: "incident.io",
  summary: "Alert events for an alert source of incident.io, resolved when the alerts resolve.",
  rate: { burst: 20, perMinute: 120 },
  staysOpen: true,
  example: `url: https://api.incident.io/v2/alert_events/alertmanager/01JABCDEF
alert_source_token: $INCIDENTIO_TOKEN`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    url: v.optional(secret("The address of the alert source.")),
    url_file: v.optional(secretFile("A file with that address.")),
    alert_source_token: v.optional(secret("The token of the alert source.")),
    alert_source_token_file: v.optional(secretFile("A file with that token.")),
    max_alerts: v.optional(number("At most so many alerts in one message; 0 for all."), 0),
    timeout: v.optional(goTime("How long to wait for a response."), "0"),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { alert_source_token, alert_source_token_file } = given;
    const url = setting.secretUrl("url", "the address of incident.io", given.url, given.url_file);
    if (!isWritten(given.url) && !isWritten(given.url_file))
      setting.wrong("url", "give url or url_file.");
    const hasToken = isWritten(alert_source_token) || isWritten(alert_source_token_file);
    if (hasToken && hasAuthorization(given.http_config))
      setting.wrong(
        "alert_source_token",
        "give http_config.authorization or alert_source_token, not both.",
      );
    const isAuthorized = hasToken || hasAuthorization(given.http_config);
    if (!isAuthorized && given.http_config !== undefined)
      setting.wrong("alert_source_token", "give alert_source_token or http_config.authorization.");
    else if (!isAuthorized && !hasAuthorization(setting.global.http_config))
      setting.warn("alert_source_token", "without a token incident.io refuses every message.");
    const token = setting.secret(
      "alert_source_token",
      "incident.io's token",
      alert_source_token,
      alert_source_token_file,
    );
    if (url === undefined) return undefined;
    return {
      url,
      token,
      maxAlerts: given.max_alerts,
      timeoutMs: given.timeout === 0 ? undefined : given.timeout,
      http: setting.http(given.http_config),
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openIncidentio(ready, context),
});
