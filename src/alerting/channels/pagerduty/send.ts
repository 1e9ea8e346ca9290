/** Sends events to PagerDuty. One incident per group of alerts: as in Alertmanager, its key is the hash of the group's key. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { openHttpChannel } from "../post.ts";
import { compileAll, groupKeyHash, printAll, readSecret, withoutEmpty } from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten } from "../shorten.ts";

export interface ReadyPagerduty {
  readonly key: SecretText;
  readonly version: 1 | 2;
  readonly url: string;
  readonly timeoutMs: number | undefined;
  readonly http: HttpClientConfig;
  readonly client: string;
  readonly clientUrl: string;
  readonly description: string;
  readonly severity: string;
  readonly source: string;
  readonly class: string;
  readonly component: string;
  readonly group: string;
  readonly details: Readonly<Record<string, string>>;
  readonly images: readonly Readonly<Record<string, string>>[];
  readonly links: readonly Readonly<Record<string, string>>[];
}

const longest = { summary: 1_024, description: 1_024, other: 2_048 };
/** The limit of a whole event; a longer one is sent without its details, the only long part. */
const maxBytes = 512_000;

export function openPagerduty(ready: ReadyPagerduty, context: ChannelContext): OpenChannel {
  const event = ready.version === 2 ? secondVersion(ready, context) : firstVersion(ready, context);
  const details = compileAll(ready.details, context);
  return openHttpChannel("PagerDuty", ready.http, context, async (message) => {
    const key = await readSecret(ready.key, message, context);
    const full = JSON.stringify(event(message, key, printAll(details, message)));
    const body =
      Buffer.byteLength(full) <= maxBytes
        ? full
        : JSON.stringify(event(message, key, { note: "The details were too long to be sent." }));
    return {
      url: ready.url,
      body,
      timeoutMs: ready.timeoutMs,
    };
  });
}

type Event = (message: ChannelMessage, key: string, details: Record<string, string>) => object;

function secondVersion(ready: ReadyPagerduty, context: ChannelContext): Event {
  const texts = compileAll(
    {
      client: ready.client,
      clientUrl: ready.clientUrl,
      summary: ready.description,
      severity: ready.severity,
      source: ready.source,
      class: ready.class,
      component: ready.component,
      group: ready.group,
    },
    context,
  );
  const images = ready.images.map((image) => compileAll(image, context));
  const links = ready.links.map((link) => compileAll(link, context));
  return (message, routingKey, details) => {
    const text = printAll(texts, message);
    const shownImages = images
      .map((image) => printAll(image, message))
      .filter(({ src }) => src !== "");
    const shownLinks = links
      .map((link) => printAll(link, message))
      .filter(({ href }) => href !== "");
    const summary = shorten(text["summary"] ?? "", longest.summary);
    return {
      routing_key: routingKey,
      dedup_key: groupKeyHash(message),
      event_action: message.data.status === "resolved" ? "resolve" : "trigger",
      payload: {
        summary: summary === "" ? "Alert" : summary,
        source: shorten(text["source"] ?? "", longest.other),
        severity: text["severity"],
        ...withoutEmpty({
          class: text["class"],
          component: text["component"],
          group: text["group"],
        }),
        custom_details: details,
      },
      ...withoutEmpty({ client: text["client"], client_url: text["clientUrl"] }),
      ...(shownImages.length === 0 ? {} : { images: shownImages }),
      ...(shownLinks.length === 0 ? {} : { links: shownLinks }),
    };
  };
}

function firstVersion(ready: ReadyPagerduty, context: ChannelContext): Event {
  const { client, clientUrl, description } = ready;
  const texts = compileAll({ client, clientUrl, description }, context);
  return (message, serviceKey, details) => {
    const text = printAll(texts, message);
    const resolved = message.data.status === "resolved";
    return {
      service_key: serviceKey,
      incident_key: groupKeyHash(message),
      event_type: resolved ? "resolve" : "trigger",
      description: shorten(text["description"] ?? "", longest.description),
      ...(resolved ? {} : withoutEmpty({ client: text["client"], client_url: text["clientUrl"] })),
      details,
    };
  };
}
