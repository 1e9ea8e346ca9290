/** The flags and keys of the hub's job ledger. */
import type { Command } from "commander";
import * as v from "valibot";
import { durationMs, text } from "../../config/fields.ts";
import { parseTariff, type Tariff } from "../../runs/jobs/tariff.ts";
import { resolveBesideFile } from "./alerting.ts";
import type { ConfigFile } from "./schema.ts";
import { addSettingFlags, type FlagsOf, keysOf, readSetting } from "./setting.ts";

export type JobsFlags = FlagsOf<typeof jobsSettingTable>;

export interface JobsSettings {
  /** 0 disables the ledger. */
  readonly retentionMs: number;
  /** How to read Slurm's controller: `off`, `commands`, or the URL of slurmrestd. */
  readonly slurm: string;
  readonly slurmUser: string | undefined;
  readonly slurmTokenFile: string | undefined;
  readonly slurmIntervalMs: number;
  /** Price per kilowatt-hour; undefined if not configured. */
  readonly price: Tariff | undefined;
  readonly currency: string | undefined;
  /** Grams per kilowatt-hour. */
  readonly co2: Tariff | undefined;
  /** True if closed records contain pseudonyms instead of user names. */
  readonly pseudonyms: boolean;
  /** The policy file for idle held GPUs; undefined: no notifications. */
  readonly heldIdleFile: string | undefined;
}

const tariffTakes = "a number, and others by hours of the day, such as 0.32 22-6=0.21";
const tariffText = () =>
  v.pipe(
    text(tariffTakes),
    v.check((given) => parseTariff(given) !== undefined, tariffTakes),
  );
const zoneTakes = "a time zone such as Europe/Berlin";

const slurmTakes = "commands, off, or the address of slurmrestd such as http://controller:6820";

const jobsSettingTable = {
  jobs_retention: {
    schema: durationMs(0, 1_000 * 365 * 86_400_000),
    flag: [
      "--jobs-retention <duration>",
      "how long to retain the records of ended jobs; 0 keeps no job ledger",
    ],
    fallback: "3y",
    description:
      "How long to retain the records of ended jobs and the energy books of the GPUs, apart from the history: see [jobs](../guides/jobs.md). 0 keeps no job ledger.",
  },
  slurm: {
    schema: v.pipe(
      text(slurmTakes),
      v.regex(/^(?:off|commands|https?:\/\/[^\s/]+\/?)$/, slurmTakes),
    ),
    flag: [
      "--slurm <how>",
      "read jobs from Slurm: commands (squeue and sacct), the address of slurmrestd, or off",
    ],
    fallback: "off",
    description:
      "How the job ledger reads Slurm's controller: `commands` runs `squeue --json` and `sacct --json` on the hub's machine, an address such as `http://controller:6820` asks slurmrestd, `off` does not. See [Slurm](../guides/slurm.md).",
  },
  slurm_user: {
    schema: text("a user of Slurm"),
    description: "The user name in requests to slurmrestd.",
  },
  slurm_token_file: {
    schema: text("a file"),
    description:
      "File with the JSON Web Token for slurmrestd (`scontrol token username=gpulse lifespan=…`). It is read at every question: replace it before the token expires.",
  },
  slurm_interval: {
    schema: durationMs(1_000, 600_000),
    flag: ["--slurm-interval <duration>", "how often to ask Slurm's controller"],
    fallback: "10s",
    description: "How often to ask Slurm's controller for its jobs.",
  },
  jobs_pseudonyms: {
    schema: v.boolean("true or false"),
    description:
      "Whether records of ended jobs have a pseudonym in place of the user, and no name that users chose; false by default. See [privacy](../guides/jobs.md#privacy).",
  },
  held_idle: {
    schema: text("a file"),
    flag: ["--held-idle <file>", "notify owners of idle GPUs by this policy file"],
    fallbackText: "nobody is notified",
    description:
      "The policy file of GPUs that jobs hold without using them: when owners are notified, and what may be done afterwards. See [held-idle GPUs](../guides/held-idle.md).",
  },
  jobs_price: {
    schema: tariffText(),
    description:
      "Price of a kilowatt-hour for the bills of jobs: a number, and others by hours of the day, such as `0.32 22-6=0.21`.",
  },
  jobs_currency: {
    schema: v.pipe(text("a currency such as EUR"), v.regex(/^\S{1,8}$/, "a currency such as EUR")),
    description: "Currency of `jobs_price`.",
  },
  jobs_co2: {
    schema: tariffText(),
    description: "Grams of CO2 per kilowatt-hour, in the same form, such as `380 11-16=210`.",
  },
  jobs_time_zone: {
    schema: v.pipe(
      text(zoneTakes),
      v.check((given) => parseTariff("0", given) !== undefined, zoneTakes),
    ),
    description: "Time zone of the hours in `jobs_price` and `jobs_co2`; UTC by default.",
  },
} as const;

export const jobsKeys = keysOf(jobsSettingTable);

export function addJobsFlags(command: Command): void {
  addSettingFlags(command, jobsSettingTable);
}

export function jobsSettings(
  flags: JobsFlags,
  file: ConfigFile["hub"],
  configFile: string | undefined,
): JobsSettings {
  const tariff = (given: string | undefined): Tariff | undefined =>
    given === undefined ? undefined : parseTariff(given, file?.jobs_time_zone);
  return {
    retentionMs: readSetting(jobsSettingTable, "jobs_retention", flags, {}, file),
    slurm: readSetting(jobsSettingTable, "slurm", flags, {}, file),
    slurmUser: file?.slurm_user,
    slurmTokenFile:
      file?.slurm_token_file === undefined
        ? undefined
        : resolveBesideFile(configFile, file.slurm_token_file),
    slurmIntervalMs: readSetting(jobsSettingTable, "slurm_interval", flags, {}, file),
    price: tariff(file?.jobs_price),
    currency: file?.jobs_currency,
    co2: tariff(file?.jobs_co2),
    pseudonyms: file?.jobs_pseudonyms ?? false,
    heldIdleFile:
      flags.heldIdle ??
      (file?.held_idle === undefined ? undefined : resolveBesideFile(configFile, file.held_idle)),
  };
}
