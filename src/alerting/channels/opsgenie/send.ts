/** Creates, updates and closes alerts through Opsgenie's Alert API v2. The alias of an alert is the hash of the group's key. */
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { NotificationPoster, type NotifyRequest } from "../post.ts";
import {
  compileAll,
  groupKeyHash,
  printAll,
  readSecret,
  splitList,
  urlBelow,
  withoutEmpty,
} from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten } from "../shorten.ts";

interface Responder {
  readonly id: string;
  readonly name: string;
  readonly username: string;
  readonly type: string;
}

export interface ReadyOpsgenie {
  readonly key: SecretText;
  readonly url: string;
  readonly http: HttpClientConfig;
  readonly message: string;
  readonly description: string;
  readonly source: string;
  readonly details: Readonly<Record<string, string>>;
  readonly entity: string;
  readonly responders: readonly Responder[];
  readonly actions: string;
  readonly tags: string;
  readonly note: string;
  readonly priority: string;
  readonly update_alerts: boolean;
}

/** The Alert API's limits, in characters. */
const longest = { message: 130, description: 15_000, entity: 512, note: 25_000 };

type Step = Pick<NotifyRequest, "method" | "url"> & { readonly content: object };

export function openOpsgenie(ready: ReadyOpsgenie, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster("Opsgenie", ready.http, context.hidden, context.nowMs);
  const stepsOf = stepRenderer(ready, context);
  return {
    send: async (message, signal) => {
      const key = await readSecret(ready.key, message, context);
      for (const { content, ...step } of stepsOf(message))
        await poster.post({
          ...step,
          body: JSON.stringify(content),
          headers: { authorization: `GenieKey ${key}` },
          idempotencyKey: message.notification.idempotencyKey,
          signal,
        });
    },
    close: () => poster.close(),
  };
}

function stepRenderer(
  ready: ReadyOpsgenie,
  context: ChannelContext,
): (message: ChannelMessage) => Step[] {
  const { message: title, description, source, entity, actions, tags, note, priority } = ready;
  const texts = compileAll(
    { title, description, source, entity, actions, tags, note, priority },
    context,
  );
  const details = compileAll(ready.details, context);
  const responders = ready.responders.map(({ id, name, username, type }) =>
    compileAll({ id, name, username, type }, context),
  );
  return (message) => {
    const alias = groupKeyHash(message);
    const text = printAll(texts, message);
    const at = (what: string): string =>
      `${urlBelow(ready.url, `v2/alerts/${alias}/${what}`)}?identifierType=alias`;
    if (message.data.status === "resolved")
      return [{ method: "POST", url: at("close"), content: { source: text.source } }];
    const shown = {
      message: shorten(text.title, longest.message),
      description: shorten(text.description, longest.description),
    };
    const asked = responders.flatMap((one) => respondersOf(printAll(one, message)));
    const create: Step = {
      method: "POST",
      url: urlBelow(ready.url, "v2/alerts"),
      content: {
        alias,
        ...withoutEmpty(shown),
        details: { ...message.data.commonLabels, ...printAll(details, message) },
        source: text.source,
        ...filledList("responders", asked),
        ...filledList("tags", splitList(text.tags)),
        ...withoutEmpty({
          note: shorten(text.note, longest.note),
          priority: text.priority,
          entity: shorten(text.entity, longest.entity),
        }),
        ...filledList("actions", splitList(text.actions)),
      },
    };
    if (!ready.update_alerts) return [create];
    return [
      create,
      { method: "PUT", url: at("message"), content: { message: shown.message } },
      { method: "PUT", url: at("description"), content: { description: shown.description } },
    ];
  };
}

/** Empty if the labels that name a responder are missing; a list of teams gives one responder per team. */
function respondersOf({ id, name, username, type }: Responder): object[] {
  if (type === "teams") return splitList(name).map((team) => ({ name: team, type: "team" }));
  if (id === "" && name === "" && username === "") return [];
  return [{ ...withoutEmpty({ id, name, username }), type }];
}

const filledList = (name: string, list: readonly unknown[]): object =>
  list.length === 0 ? {} : { [name]: list };
