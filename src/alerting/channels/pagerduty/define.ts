/** `pagerduty_configs`: an event to PagerDuty, through Events API v2 (`routing_key`) or v1 (`service_key`). */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import { isWritten } from "../entry-context.ts";
import {
  advanced,
  httpConfig,
  items,
  secret,
  secretFile,
  sendResolved,
  template,
  templateMap,
  time,
  words,
} from "../fields.ts";

/** The endpoint of v1; a configured URL is used for both versions. */
const firstVersionUrl = "https://events.pagerduty.com/generic/2010-04-15/create_event.json";
const secondVersionUrl = "https://events.pagerduty.com/v2/enqueue";

const defaultDetails: Readonly<Record<string, string>> = {
  firing: '{{ template "pagerduty.default.instances" .Alerts.Firing }}',
  resolved: '{{ template "pagerduty.default.instances" .Alerts.Resolved }}',
  num_firing: "{{ .Alerts.Firing | len }}",
  num_resolved: "{{ .Alerts.Resolved | len }}",
};

export const pagerduty = defineChannel({
  name: "pagerduty",
  title: "PagerDuty",
  summary: "An incident in PagerDuty, closed when the alerts end.",
  rate: { burst: 60, perMinute: 120 },
  staysOpen: true,
  example: "routing_key: $PAGERDUTY_KEY",
  options: v.strictObject({
    send_resolved: sendResolved(true),
    routing_key: v.optional(secret("The integration key of Events API v2.")),
    routing_key_file: v.optional(secretFile("A file with that key.")),
    service_key: v.optional(secret("The integration key of type Prometheus, Events API v1.")),
    service_key_file: v.optional(secretFile("A file with that key.")),
    url: v.optional(words("The Events API; without it, pagerduty_url.")),
    client: v.optional(template("Who sends it."), '{{ template "pagerduty.default.client" . }}'),
    client_url: v.optional(
      template("Where that is."),
      '{{ template "pagerduty.default.clientURL" . }}',
    ),
    description: v.optional(
      template("The incident's title."),
      '{{ template "pagerduty.default.description" . }}',
    ),
    severity: v.optional(template("critical, error, warning or info."), "error"),
    source: v.optional(template("What is affected; without it, the client.")),
    class: v.optional(template("The kind of event."), ""),
    component: v.optional(template("The part that is affected."), ""),
    group: v.optional(template("What it belongs to."), ""),
    details: templateMap("More names and values."),
    images: advanced(
      items(
        v.strictObject({
          href: v.optional(template("Where it leads."), ""),
          src: v.optional(template("The picture."), ""),
          alt: v.optional(template("In its place."), ""),
        }),
      ),
      "Pictures in the incident.",
    ),
    links: advanced(
      items(
        v.strictObject({
          href: v.optional(template("Where it leads."), ""),
          text: v.optional(template("What it says."), ""),
        }),
      ),
      "Links in the incident.",
    ),
    timeout: v.optional(time("How long to wait for an answer."), "0"),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global, wrong } = setting;
    const isSecond = [given.routing_key, given.routing_key_file].some(isWritten);
    const isFirst = [given.service_key, given.service_key_file].some(isWritten);
    if (!isSecond && !isFirst)
      wrong("routing_key", "give routing_key (Events API v2) or service_key.");
    if (isSecond && isFirst)
      setting.warn("routing_key", "both keys are given: service_key is used, by Events API v1.");
    const key = isFirst
      ? setting.secret("service_key", "PagerDuty's key", given.service_key, given.service_key_file)
      : setting.secret("routing_key", "PagerDuty's key", given.routing_key, given.routing_key_file);
    const url = setting.url("url", given.url ?? global.pagerduty_url);
    if (key === undefined) return undefined;
    return {
      key,
      version: isFirst ? (1 as const) : (2 as const),
      url: isFirst && url === secondVersionUrl ? firstVersionUrl : url,
      timeoutMs: given.timeout === 0 ? undefined : given.timeout,
      http: setting.http(given.http_config),
      client: given.client,
      clientUrl: given.client_url,
      description: given.description,
      severity: given.severity,
      source: given.source ?? given.client,
      class: given.class,
      component: given.component,
      group: given.group,
      details: { ...defaultDetails, ...given.details },
      images: given.images,
      links: given.links,
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openPagerduty(ready, context),
});
