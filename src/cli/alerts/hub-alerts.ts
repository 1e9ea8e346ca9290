/** Requests the hub's alert APIs and validates their responses. */
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import type { HubClient } from "../hub-client.ts";

const labels = v.record(v.string(), v.string());
const named = v.object({ name: v.string() });

const alert = v.object({
  labels,
  annotations: labels,
  startsAt: v.string(),
  endsAt: v.string(),
  fingerprint: v.string(),
  receivers: v.array(named),
  status: v.object({
    state: v.string(),
    silencedBy: v.array(v.string()),
    inhibitedBy: v.array(v.string()),
  }),
});
export type HubAlert = v.InferOutput<typeof alert>;

const groups = v.array(v.object({ labels, receiver: named, alerts: v.array(alert) }));
export type HubGroup = v.InferOutput<typeof groups>[number];

const ruleAlerts = v.object({
  data: v.object({
    alerts: v.array(
      v.object({
        labels,
        annotations: labels,
        state: v.string(),
        activeAt: v.string(),
        value: v.string(),
      }),
    ),
  }),
});
export type HubRuleAlert = v.InferOutput<typeof ruleAlerts>["data"]["alerts"][number];

const deliveries = v.object({
  deliveries: v.array(
    v.looseObject({
      time: v.string(),
      receiver: v.string(),
      channel: v.optional(v.string()),
      outcome: v.picklist(["sent", "failed", "suppressed"]),
      status: v.string(),
      group: labels,
      alerts: v.array(v.string()),
      attempts: v.number(),
      why: v.optional(v.string()),
    }),
  ),
});
export type HubDelivery = v.InferOutput<typeof deliveries>["deliveries"][number];

const tested = v.object({
  receiver: v.string(),
  ways: v.array(
    v.looseObject({
      channel: v.string(),
      index: v.number(),
      ok: v.boolean(),
      tookMs: v.number(),
      why: v.optional(v.string()),
    }),
  ),
});
export type HubTestResult = v.InferOutput<typeof tested>;

const silences = v.array(
  v.object({
    id: v.string(),
    status: v.object({ state: v.string() }),
    matchers: v.array(
      v.object({
        name: v.string(),
        value: v.string(),
        isRegex: v.boolean(),
        isEqual: v.boolean(),
      }),
    ),
    startsAt: v.string(),
    endsAt: v.string(),
    createdBy: v.string(),
    comment: v.string(),
  }),
);
export type HubSilence = v.InferOutput<typeof silences>[number];

/** Returns undefined if the hub routes its alerts through external Alertmanagers. */
export async function fetchGroups(
  client: HubClient,
  filters: readonly string[],
): Promise<readonly HubGroup[] | undefined> {
  const { status, body } = await client.call("GET", `/api/v2/alerts/groups${query(filters)}`);
  return status === 404 ? undefined : parseResponse(groups, status, body);
}

/** The alerts of the rules, pending or firing. */
export async function fetchRuleAlerts(client: HubClient): Promise<readonly HubRuleAlert[]> {
  const { status, body } = await client.call("GET", "/api/v1/alerts");
  return parseResponse(ruleAlerts, status, body).data.alerts;
}

export async function fetchDeliveries(client: HubClient, limit: number) {
  const { status, body } = await client.call("GET", `/api/alerts/deliveries?limit=${limit}`);
  return parseResponse(deliveries, status, body).deliveries;
}

export async function requestReceiverTest(
  client: HubClient,
  receiver: string,
): Promise<HubTestResult> {
  const { status, body } = await client.call("POST", "/api/alerts/test", { receiver });
  return parseResponse(tested, status, body);
}

export async function fetchSilences(
  client: HubClient,
  filters: readonly string[],
): Promise<readonly HubSilence[]> {
  const { status, body } = await client.call("GET", `/api/v2/silences${query(filters)}`);
  return parseResponse(silences, status, body);
}

export async function postSilence(client: HubClient, silence: unknown): Promise<string> {
  const { status, body } = await client.call("POST", "/api/v2/silences", silence);
  return parseResponse(v.object({ silenceID: v.string() }), status, body).silenceID;
}

export async function expireSilence(client: HubClient, id: string): Promise<void> {
  const { status, body } = await client.call("DELETE", `/api/v2/silence/${id}`);
  if (status !== 200) throw failed(status, body);
}

const query = (filters: readonly string[]): string =>
  filters.length === 0
    ? ""
    : `?${filters.map((text) => `filter=${encodeURIComponent(text)}`).join("&")}`;

function parseResponse<Schema extends v.GenericSchema>(
  schema: Schema,
  status: number,
  body: unknown,
): v.InferOutput<Schema> {
  if (status !== 200) throw failed(status, body);
  const checked = checkValue(schema, body);
  if (checked.ok) return checked.value;
  throw new GpulseError(
    "QUERY_FAILED",
    "The response is not that of a hub of this version. Update the hub.",
  );
}

/** Extracts the hub's error message from any of its response formats. */
function failed(status: number, body: unknown): GpulseError {
  const parts: readonly unknown[] =
    typeof body === "object" && body !== null ? Object.values(body) : [body];
  const said = parts.find((part) => typeof part === "string" && part !== "error");
  return new GpulseError(
    "QUERY_FAILED",
    typeof said === "string" ? said : `The hub answered with status ${status}.`,
  );
}
