/** Runs `gpulse alerts`. */
import { matcherText, matchesAll } from "../../alerting/route/matchers.ts";
import { parseMatchers } from "../../alerting/route/parse-matchers.ts";
import type { ClientFlags } from "../command/client.ts";
import { clientAccess } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError } from "../../base/error.ts";
import { defaultHubUrl, HubClient } from "../hub-client.ts";
import { deliveriesOf, groupsOf, ruleAlertsOf, testOf } from "./hub-alerts.ts";
import type { HubGroup, RuleAlert } from "./hub-alerts.ts";
import { showDeliveries, showGroups, showRuleAlerts, showTest } from "./show.ts";

export interface AlertsFlags extends ClientFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly check?: boolean;
}

export interface HistoryFlags extends AlertsFlags {
  readonly limit?: string;
}

export const clientOf = (flags: AlertsFlags, io: CommandIo): HubClient =>
  new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));

export async function listAlerts(
  given: readonly string[],
  flags: AlertsFlags,
  io: CommandIo,
): Promise<number> {
  const client = clientOf(flags, io);
  const matchers = given.flatMap(parseMatchers);
  const [groups, found] = [
    await groupsOf(client, matchers.map(matcherText)),
    await ruleAlertsOf(client),
  ];
  const wanted = found.filter(({ labels }) =>
    matchesAll(matchers, new Map(Object.entries(labels))),
  );
  const pending = wanted.filter(({ state }) => state === "pending");
  if (flags.json === true) print(io, { groups: groups ?? [], pending, rules: wanted });
  else io.stdout.write(shown(groups, pending, wanted));
  const active =
    groups === undefined
      ? wanted.some(({ state }) => state === "firing")
      : groups.some(({ alerts }) => alerts.some(({ status }) => status.state === "active"));
  return flags.check === true && active ? 1 : 0;
}

function shown(
  groups: readonly HubGroup[] | undefined,
  pending: readonly RuleAlert[],
  found: readonly RuleAlert[],
): string {
  const nowMs = Date.now();
  if (groups === undefined)
    return found.length === 0
      ? "No rule of this hub has found anything; an Alertmanager elsewhere routes its alerts.\n"
      : `An Alertmanager elsewhere routes these:\n${showRuleAlerts(found, nowMs)}`;
  const parts = [
    showGroups(groups, nowMs),
    pending.length === 0 ? "" : `not for long enough to be told\n${showRuleAlerts(pending, nowMs)}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "No alert is active.\n" : parts.join("\n");
}

export async function listHistory(flags: HistoryFlags, io: CommandIo): Promise<number> {
  const limit = Number(flags.limit ?? 50);
  if (!Number.isInteger(limit) || limit < 1 || limit > 2_000)
    throw new GpulseError("USAGE", "--limit must be a whole number from 1 to 2000.");
  const deliveries = await deliveriesOf(clientOf(flags, io), limit);
  if (flags.json === true) print(io, deliveries);
  else
    io.stdout.write(
      deliveries.length === 0
        ? "Nothing has been sent, failed or kept quiet.\n"
        : showDeliveries(deliveries),
    );
  return 0;
}

export async function testAlert(
  receiver: string,
  flags: AlertsFlags,
  io: CommandIo,
): Promise<number> {
  const outcome = await testOf(clientOf(flags, io), receiver);
  if (flags.json === true) print(io, outcome);
  else io.stdout.write(showTest(outcome));
  return outcome.ways.every(({ ok }) => ok) ? 0 : 1;
}

export const print = (io: CommandIo, value: unknown): void =>
  void io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
