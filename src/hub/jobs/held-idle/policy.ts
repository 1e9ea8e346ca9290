/**
 * The policy file for idle held GPUs: when owners are notified, and which commands may run afterwards. Without an `action`,
 * owners are only notified; with one, it is a dry run until its mode is `on`.
 *
 *   after: 30m
 *   keep: 12h
 *   only: { kinds: [slurm, pod], min_gpus: 1 }
 *   action:
 *     mode: dry-run
 *     wait: 1h
 *     budget: 2,10%
 *     per: 1h
 *     commands:
 *       slurm: [scancel, "{id}"]
 */
import * as v from "valibot";
import { budgetText, parseBudget } from "../../../config/budget.ts";
import { loadFile } from "../../../config/file.ts";
import { durationMs, text, wholeNumber } from "../../../config/fields.ts";
import { type JobKind, jobKinds, type JobRecord } from "../../../runs/jobs/record.ts";

const dayMs = 86_400_000;
const commandTakes = "a program and its arguments, such as [scancel, '{id}']";
const command = v.pipe(
  v.array(text(commandTakes), commandTakes),
  v.minLength(1, commandTakes),
  v.maxLength(64, commandTakes),
  v.check((parts) => !/[{}]/.test(parts[0] ?? "{"), "a program by its name, without placeholders"),
  v.check(
    (parts) => parts.every((part) => placeholdersIn(part).every(isPlaceholder)),
    `only the placeholders {id}, {name}, {user}, {namespace} and {host}`,
  ),
);
const kind = v.picklist(jobKinds, jobKinds.join(", "));
const names = v.optional(v.array(text("names")));

const policySchema = v.strictObject({
  after: v.optional(durationMs(60_000, 30 * dayMs), "30m"),
  keep: v.optional(durationMs(60_000, 30 * dayMs), "12h"),
  only: v.optional(
    v.strictObject({
      kinds: v.optional(v.array(kind)),
      users: names,
      accounts: names,
      min_gpus: v.optional(wholeNumber(1, 100_000), 1),
    }),
    {},
  ),
  action: v.optional(
    v.strictObject({
      mode: v.optional(v.picklist(["dry-run", "on"], "dry-run or on"), "dry-run"),
      wait: v.optional(durationMs(0, 30 * dayMs), "1h"),
      budget: v.optional(budgetText("jobs"), "1,10%"),
      per: v.optional(durationMs(60_000, 30 * dayMs), "1h"),
      timeout: v.optional(durationMs(1_000, 600_000), "30s"),
      commands: v.record(kind, command),
    }),
  ),
});

export type HeldIdlePolicy = v.InferOutput<typeof policySchema>;
export type HeldIdleAction = NonNullable<HeldIdlePolicy["action"]>;

/** @throws GpulseError with the mistake and its position. */
export const loadPolicy = (
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<HeldIdlePolicy> => loadFile(file, policySchema, env);

export const actionBudget = ({ budget }: HeldIdleAction) => parseBudget(budget);

const placeholders = ["id", "name", "user", "namespace", "host"] as const;
const placeholdersIn = (part: string): string[] =>
  [...part.matchAll(/\{(\w*)\}/g)].map(([, name = ""]) => name);
const isPlaceholder = (name: string): boolean => placeholders.some((one) => one === name);

/** Names come from users: one that a command could parse as an option, or that has special characters, is refused. */
const safeValue = /^[A-Za-z0-9_][\w.:/@+-]{0,252}$/;

export type JobCommand =
  | { readonly ok: true; readonly command: readonly string[] }
  /** `why`: a sentence without its final period. */
  | { readonly ok: false; readonly why: string };

export function commandFor(action: HeldIdleAction, record: JobRecord): JobCommand {
  const wanted = (action.commands as Partial<Record<JobKind, readonly string[]>>)[record.kind];
  if (wanted === undefined)
    return { ok: false, why: `the policy has no command for jobs of kind ${record.kind}` };
  const hosts = new Set(record.stretches.map(({ host }) => host));
  const values: Readonly<Record<string, string | undefined>> = {
    id: record.scheduler?.id ?? record.name,
    name: record.name,
    user: record.user,
    namespace: record.namespace,
    host: hosts.size === 1 ? [...hosts][0] : undefined,
  };
  for (const name of wanted.flatMap(placeholdersIn)) {
    const value = values[name];
    if (value === undefined) return { ok: false, why: `the job has no single ${name}` };
    if (!safeValue.test(value))
      return { ok: false, why: `the job's ${name} is not a plain name: it is not passed on` };
  }
  const fill = (part: string): string =>
    part.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  return { ok: true, command: wanted.map(fill) };
}
