/** Runs `gpulse alerts`. */
import { matcherText, matchesAll } from "../../alerting/route/matchers.ts";
import { parseMatchers } from "../../alerting/route/parse-matchers.ts";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError } from "../../base/error.ts";
import { HubClient } from "../hub-client.ts";
import {
  fetchDeliveries,
  fetchGroups,
  fetchRuleAlerts,
  type HubGroup,
  type HubRuleAlert,
  requestReceiverTest,
} from "./hub-alerts.ts";
import { formatDeliveries, formatGroups, formatRuleAlerts, formatTestResult } from "./show.ts";

export interface AlertsFlags extends ClientFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly check?: boolean;
}

export interface AlertHistoryFlags extends AlertsFlags {
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
    await fetchGroups(client, matchers.map(matcherText)),
    await fetchRuleAlerts(client),
  ];
  const wanted = found.filter(({ labels }) =>
    matchesAll(matchers, new Map(Object.entries(labels))),
  );
  const pending = wanted.filter(({ state }) => state === "pending");
  if (flags.json === true) print(io, { groups: groups ?? [], pending, rules: wanted });
  else io.stdout.write(formatAlerts(groups, pending, wanted));
  const active =
    groups === undefined
      ? wanted.some(({ state }) => state === "firing")
      : groups.some(({ alerts }) => alerts.some(({ status }) => status.state === "active"));
  return flags.check === true && active ? 1 : 0;
}

function formatAlerts(
  groups: readonly HubGroup[] | undefined,
  pending: readonly HubRuleAlert[],
  found: readonly HubRuleAlert[],
): string {
  const nowMs = Date.now();
  if (groups === undefined)
    return found.length === 0
      ? "No rule of this hub has found anything; an Alertmanager elsewhere routes its alerts.\n"
      : `An Alertmanager elsewhere routes these:\n${formatRuleAlerts(found, nowMs)}`;
  const parts = [
    formatGroups(groups, nowMs),
    pending.length === 0
      ? ""
      : `pending: not yet long enough to fire\n${formatRuleAlerts(pending, nowMs)}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "No alert is active.\n" : parts.join("\n");
}

export async function listHistory(flags: AlertHistoryFlags, io: CommandIo): Promise<number> {
  const limit = Number(flags.limit ?? 50);
  if (!Number.isInteger(limit) || limit < 1 || limit > 2_000)
    throw new GpulseError("USAGE", "--limit must be a whole number from 1 to 2000.");
  const deliveries = await fetchDeliveries(clientOf(flags, io), limit);
  if (flags.json === true) print(io, deliveries);
  else
    io.stdout.write(deliveries.length === 0 ? "No notifications.\n" : formatDeliveries(deliveries));
  return 0;
}

export async function testAlert(
  receiver: string,
  flags: AlertsFlags,
  io: CommandIo,
): Promise<number> {
  const outcome = await requestReceiverTest(clientOf(flags, io), receiver);
  if (flags.json === true) print(io, outcome);
  else io.stdout.write(formatTestResult(outcome));
  return outcome.ways.every(({ ok }) => ok) ? 0 : 1;
}

export const print = (io: CommandIo, value: unknown): void =>
  void io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
