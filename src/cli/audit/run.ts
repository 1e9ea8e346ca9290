/** Runs `gpulse audit`, and records changes that other commands made in the data folder. */
import { userInfo } from "node:os";
import { type AuditEntry, AuditLog } from "../../access/audit.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { alignColumns } from "../table.ts";

export interface AuditFlags extends FlagValues {
  readonly since?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

const usualCount = 100;
/** More than all files can contain. */
const mostEntries = 1_000_000;

export async function showAudit(flags: AuditFlags, io: CommandIo): Promise<number> {
  const sinceMs = readSince(flags.since, Date.now());
  const limit = readLimit(flags.limit, flags.since === undefined ? usualCount : mostEntries);
  const { dataDir } = await resolveSettings("hub", flags, io.env);
  const audit = new AuditLog({ dataDir, log: commandLog(io, "warn", false), nowMs: Date.now });
  const entries = audit
    .tail(limit)
    .filter(({ time }) => Date.parse(time) >= sinceMs)
    .toReversed();
  if (flags.json === true)
    for (const entry of entries) io.stdout.write(`${JSON.stringify(entry)}\n`);
  else if (entries.length === 0) io.stdout.write(`The audit log of ${dataDir} is empty.\n`);
  else
    io.stdout.write(
      alignColumns([
        ["TIME", "ACTOR", "LOGIN", "ADDRESS", "ACTION", "TARGET", "OUTCOME"],
        ...entries.map((entry) => row(entry).map(plain)),
      ]),
    );
  return 0;
}

/** Records a change made by a command; never throws, as the change is already made. */
export function recordChange(
  dataDir: string,
  io: CommandIo,
  what: string,
  target: string | undefined,
): void {
  new AuditLog({ dataDir, log: commandLog(io, "warn", false), nowMs: Date.now }).note({
    who: whoRuns(),
    by: "cli",
    what,
    outcome: "done",
    ...(target === undefined ? {} : { target }),
  });
}

/** The account that runs the command; in a container it may only have a numeric id. */
function whoRuns(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "?"}`;
  }
}

const row = ({ time, who, by, address, what, target, outcome, status, why }: AuditEntry) => [
  time.slice(0, 19).replace("T", " "),
  who,
  by,
  address ?? "here",
  what,
  target ?? "",
  [outcome, status, why].filter((part) => part !== undefined).join(" "),
];

/** Removes control characters: names come from outside and must not control the terminal. */
const plain = (text: string): string => text.replace(/\p{Cc}+/gu, " ");

function readSince(given: string | undefined, nowMs: number): number {
  if (given === undefined) return 0;
  const ms = parseDurationMs(given);
  if (ms === undefined || ms <= 0)
    throw new GpulseError(
      "USAGE",
      `--since must be a duration such as 1d, not "${given.slice(0, 60)}".`,
    );
  return nowMs - ms;
}

function readLimit(given: string | undefined, otherwise: number): number {
  const limit = given === undefined ? otherwise : Number(given);
  if (Number.isInteger(limit) && limit > 0 && limit <= mostEntries) return limit;
  throw new GpulseError(
    "USAGE",
    `--limit must be a whole number of at least 1, not "${(given ?? "").slice(0, 60)}".`,
  );
}
