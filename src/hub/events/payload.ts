/** Alertmanager's webhook payload, version 4: validated and bounded, never trusted further. */
import * as v from "valibot";
import type { NotifiedAlert } from "../../alerting/alert.ts";
import { fingerprintOf } from "../../alerting/route/fingerprint.ts";
import { checkValue } from "../../config/check.ts";

const texts = () => v.optional(v.record(v.string(), v.string("text")), {});

const time = () =>
  v.pipe(
    v.string("a time"),
    v.check((text) => !Number.isNaN(Date.parse(text)), "a time"),
  );

const alertSchema = v.object({
  status: v.picklist(["firing", "resolved"], "firing or resolved"),
  labels: v.record(v.string(), v.string("text"), "a mapping of labels"),
  annotations: texts(),
  startsAt: time(),
  endsAt: v.optional(time()),
  generatorURL: v.optional(v.string("text"), ""),
  fingerprint: v.optional(v.string("text"), ""),
});

const payloadSchema = v.object({
  version: v.optional(v.string("text"), "4"),
  receiver: v.optional(v.string("text"), ""),
  groupKey: v.optional(v.string("text"), ""),
  externalURL: v.optional(v.string("text"), ""),
  alerts: v.array(alertSchema, "a list of alerts"),
});

/** An alert with the receiver of its notification. */
export interface WebhookAlert extends NotifiedAlert {
  readonly receiver: string;
}

export type WebhookPayloadResult =
  | { readonly ok: true; readonly alerts: readonly WebhookAlert[] }
  | { readonly ok: false; readonly sentence: string };

export function readPayload(body: unknown): WebhookPayloadResult {
  const checked = checkValue(payloadSchema, body);
  if (!checked.ok)
    return {
      ok: false,
      sentence: `Not an Alertmanager webhook: ${checked.problems[0]?.sentence ?? "the body is invalid."}`,
    };
  const { version, receiver, alerts } = checked.value;
  if (version !== "4")
    return {
      ok: false,
      sentence: `Only webhooks of version 4 are supported, not of "${version}".`,
    };
  return {
    ok: true,
    alerts: alerts.map(({ status, labels, annotations, startsAt, endsAt, ...alert }) => ({
      status,
      labels,
      annotations,
      // A foreign fingerprint is used as it is: it only has to be stable.
      fingerprint: alert.fingerprint || fingerprintOf(new Map(Object.entries(labels))),
      startsAtMs: Date.parse(startsAt),
      endsAtMs: status === "resolved" && endsAt !== undefined ? Date.parse(endsAt) : undefined,
      generatorUrl: alert.generatorURL,
      receiver,
    })),
  };
}
