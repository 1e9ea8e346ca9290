/** Opens the receivers of a configuration: each receiver name maps to its channel integrations. */
import path from "node:path";
import type { Route } from "../route/config.ts";
import type { Integration } from "../route/notification.ts";
import { everyRoute } from "../route/tree.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { Clock } from "../../base/clock.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { ChannelContext, OpenChannel } from "./channel.ts";
import type { SecretRedactor } from "./secret-redactor.ts";
import { messageOf } from "./message.ts";
import { RateLimit } from "./rate.ts";
import {
  readReceivers,
  type ReadReceiversOptions,
  type ReceiverEntry,
  type ReceiversConfig,
  type RoutingFile,
} from "./read.ts";
import { NotificationTemplates } from "./templates.ts";
import { toNotifyError } from "./notify-error.ts";

export interface OpenReceiversOptions extends ReadReceiversOptions {
  readonly log: Log;
  readonly clock: Clock;
}

export interface ReceiverSet {
  readonly names: readonly string[];
  /** Settings that load without effect, one sentence each: for the log, the status page and `gpulse config check`. */
  readonly warnings: readonly string[];
  /** Empty for a receiver without channels, and for one that does not exist. */
  readonly integrations: (receiver: string) => readonly OpenIntegration[];
  /** Returns the text with every secret of this configuration removed. */
  readonly hide: (text: string) => string;
  close(): void;
}

export interface OpenIntegration extends Integration {
  /** True if the service keeps an incident open until the resolved notification. */
  readonly staysOpen: boolean;
}

/** @throws GpulseError ALERT_CONFIG with every error in the file; nothing is open then. */
export async function openReceivers(
  routing: RoutingFile,
  options: OpenReceiversOptions,
): Promise<ReceiverSet> {
  const config = await readReceivers(routing, options);
  const { hidden, warnings } = config;
  const mistakes: string[] = [];
  const templates = readTemplates(config, options, mistakes);
  if (routing.route !== undefined)
    mistakes.push(...routeLabelMistakes(routing.route, templates, options.file));
  const opened: OpenChannel[] = [];
  const integrations = new Map<string, readonly OpenIntegration[]>();
  for (const [receiver, entries] of config.receivers) {
    const ways: OpenIntegration[] = [];
    for (const entry of entries) {
      const context = contextFor(receiver, hidden, templates, options);
      try {
        const channel = await entry.open(context);
        opened.push(channel);
        ways.push(integrationOf(receiver, entry, channel, context, options.clock));
      } catch (thrown) {
        if (!(thrown instanceof TemplateError)) throw thrown;
        mistakes.push(`${entry.where}: in a template, ${hidden.hide(thrown.message)}`);
      }
    }
    integrations.set(receiver, ways);
  }
  const close = (): void => {
    for (const channel of opened) channel.close();
  };
  if (mistakes.length > 0) {
    close();
    throw new GpulseError("ALERT_CONFIG", mistakes.join("\n"));
  }
  return {
    names: [...config.receivers.keys()],
    warnings,
    integrations: (receiver) => integrations.get(receiver) ?? [],
    hide: (text) => hidden.hide(text),
    close,
  };
}

function routeLabelMistakes(root: Route, templates: NotificationTemplates, file: string): string[] {
  const sources = new Set(everyRoute(root).flatMap(({ labels }) => Object.values(labels)));
  return [...sources].flatMap((source) => {
    try {
      templates.text(source);
      return [];
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      return [`${file}: labels of a route: in a template, ${thrown.message}`];
    }
  });
}

function readTemplates(
  { templates, file }: ReceiversConfig,
  { clock }: OpenReceiversOptions,
  mistakes: string[],
): NotificationTemplates {
  const set = new NotificationTemplates(() => clock.nowMs());
  const folder = path.dirname(path.resolve(file));
  for (const pattern of templates)
    mistakes.push(...set.addFiles(pattern, folder).map((sentence) => `${file}: ${sentence}`));
  return set;
}

function contextFor(
  receiver: string,
  hidden: SecretRedactor,
  templates: NotificationTemplates,
  { log, clock }: OpenReceiversOptions,
): ChannelContext {
  return {
    receiver,
    hidden,
    log,
    nowMs: () => clock.nowMs(),
    text: (source) => templates.text(source),
    html: (source) => templates.html(source),
  };
}

function integrationOf(
  receiver: string,
  { channel, index, sendResolved }: ReceiverEntry,
  open: OpenChannel,
  context: ChannelContext,
  clock: Clock,
): OpenIntegration {
  const rate = new RateLimit(channel.rate, clock);
  return {
    receiver,
    channel: channel.name,
    index,
    sendResolved,
    staysOpen: channel.staysOpen,
    send: async (notification, signal) => {
      try {
        await rate.take(signal);
        await open.send(
          messageOf(notification, (source) => context.text(source)),
          signal,
        );
      } catch (thrown) {
        throw toNotifyError(thrown, context.hidden);
      }
    },
  };
}

/** Checks whether a file's receivers can be opened and returns the errors or the warnings. For `gpulse config check`. */
export async function checkReceivers(
  routing: RoutingFile,
  options: OpenReceiversOptions,
): Promise<{ readonly mistakes: readonly string[]; readonly warnings: readonly string[] }> {
  try {
    const receivers = await openReceivers(routing, options);
    receivers.close();
    return { mistakes: [], warnings: receivers.warnings };
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    return { mistakes: formatError(thrown).split("\n"), warnings: [] };
  }
}
