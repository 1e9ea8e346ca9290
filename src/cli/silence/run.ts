/** Runs `gpulse silence`. */
import { userInfo } from "node:os";
import { type LabelMatcher, labelMatcher, matcherText } from "../../alerting/route/matchers.ts";
import { parseMatchers } from "../../alerting/route/parse-matchers.ts";
import type { CommandIo } from "../command/io.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import {
  expireSilence,
  fetchSilences,
  type HubSilence,
  postSilence,
} from "../alerts/hub-alerts.ts";
import { type AlertsFlags, clientOf, print } from "../alerts/run.ts";
import { alignColumns } from "../table.ts";

export interface SilenceAddFlags extends AlertsFlags {
  readonly for?: string;
  readonly comment?: string;
  readonly by?: string;
}

export interface SilenceListFlags extends AlertsFlags {
  readonly expired?: boolean;
}

const longestMs = 10 * 365 * 86_400_000;

export async function addSilence(
  given: readonly string[],
  flags: SilenceAddFlags,
  io: CommandIo,
): Promise<number> {
  const forMs = parseDurationMs(flags.for ?? "1h");
  if (forMs === undefined || forMs < 1_000 || forMs > longestMs)
    throw new GpulseError(
      "USAGE",
      `--for must be a duration such as 2h, not "${(flags.for ?? "").slice(0, 60)}".`,
    );
  const matchers = given.flatMap(matchersOf);
  const nowMs = Date.now();
  const [startsAt, endsAt] = [nowMs, nowMs + forMs].map((ms) => new Date(ms).toISOString());
  const id = await postSilence(clientOf(flags, io), {
    matchers: matchers.map(({ name, op, value }) => ({
      name,
      value,
      isRegex: op.endsWith("~"),
      isEqual: !op.startsWith("!"),
    })),
    startsAt,
    endsAt,
    createdBy: flags.by ?? thisUser(),
    comment: flags.comment ?? "",
  });
  if (flags.json === true) print(io, { id, matchers: matchers.map(matcherText), endsAt });
  else io.stdout.write(`${id}\n`);
  return 0;
}

/** A single word is the name of an alert. */
function matchersOf(text: string): readonly LabelMatcher[] {
  if (/^[\w.: -]+$/.test(text.trim())) return [labelMatcher("alertname", "=", text.trim())];
  return parseMatchers(text);
}

function thisUser(): string {
  try {
    return userInfo().username;
  } catch {
    return "gpulse";
  }
}

export async function listSilences(
  given: readonly string[],
  flags: SilenceListFlags,
  io: CommandIo,
): Promise<number> {
  const filters = given.flatMap(matchersOf).map(matcherText);
  const all = await fetchSilences(clientOf(flags, io), filters);
  const wanted = all.filter(({ status }) => flags.expired === true || status.state !== "expired");
  if (flags.json === true) print(io, wanted);
  else if (wanted.length === 0)
    io.stdout.write("No silences. Create one with gpulse silence add MATCHER --for 2h.\n");
  else
    io.stdout.write(
      alignColumns([
        ["ID", "STATE", "MATCHERS", "STARTS", "ENDS", "BY", "COMMENT"],
        ...wanted.map((silence) => [
          silence.id,
          silence.status.state,
          silence.matchers.map(formatSilenceMatcher).join(" "),
          formatSilenceTime(silence.startsAt),
          formatSilenceTime(silence.endsAt),
          silence.createdBy,
          silence.comment.split("\n", 1)[0] ?? "",
        ]),
      ]),
    );
  return 0;
}

const formatSilenceTime = (time: string): string => time.slice(0, 19).replace("T", " ");

function formatSilenceMatcher({
  name,
  value,
  isEqual,
  isRegex,
}: HubSilence["matchers"][number]): string {
  const op = isRegex ? (isEqual ? "=~" : "!~") : isEqual ? "=" : "!=";
  return matcherText({ name, op, value });
}

export async function expireSilences(
  given: readonly string[],
  flags: AlertsFlags,
  io: CommandIo,
): Promise<number> {
  const client = clientOf(flags, io);
  const running = (await fetchSilences(client, [])).filter(
    ({ status }) => status.state !== "expired",
  );
  // Looks up all ids first: an unknown one expires none.
  const ids = given.map((id) => found(id, running));
  for (const id of ids) await expireSilence(client, id);
  if (flags.json === true) print(io, { expired: ids });
  else for (const id of ids) io.stdout.write(`${id} expired.\n`);
  return 0;
}

function found(id: string, running: readonly HubSilence[]): string {
  const [first, ...more] = running.filter((silence) => silence.id.startsWith(id.toLowerCase()));
  if (first === undefined)
    throw new GpulseError(
      "SILENCE",
      `No active or pending silence has the id "${id}". List them with gpulse silence list.`,
    );
  if (more.length > 0)
    throw new GpulseError(
      "SILENCE",
      `${more.length + 1} silences have an id that starts with "${id}". Pass more characters.`,
    );
  return first.id;
}
