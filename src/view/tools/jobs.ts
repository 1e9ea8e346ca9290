/** Tools for the job ledger: jobs, one job, and the sums of a period. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { billGroups } from "../../runs/jobs/bill.ts";
import { jobSchema } from "../../runs/jobs/entry.ts";
import { joulesPerKwh } from "../../runs/jobs/tariff.ts";
import { billSchema, jobSummarySchema } from "../jobs/summary.ts";
import { jobFacts } from "../jobs/text.ts";
import { judgeJob } from "../jobs/verdict.ts";
import { instant, name, number, pageOf, word } from "./answer.ts";
import { readOptionalRoute, routeOf } from "./hub-reader.ts";
import { defineTool, linePaging, oneOf, paging, text, timeHint } from "./tool.ts";

const noLedger = new GpulseError(
  "QUERY_FAILED",
  "This hub keeps no job ledger: start it without --jobs-retention 0.",
);
const hours = (seconds: number): number => seconds / 3_600;
const period = {
  from: text(`Start of the period (default: 7d ago): ${timeHint}.`),
  to: text(`End of the period (default: now): ${timeHint}.`),
};
const listSchema = v.object({ jobs: v.array(jobSummarySchema), total: v.number() });

export const listJobs = defineTool({
  name: "list_jobs",
  title: "Jobs",
  description:
    "Jobs that held GPUs in a period, newest first: id, user, state, GPU-hours, the share that did work, held-idle hours, energy, throttled time and a verdict.",
  input: v.strictObject({
    state: oneOf("Which jobs.", ["all", "running", "ended"], "all"),
    user: text("Only jobs of this user."),
    account: text("Only jobs of this account."),
    host: text("Only jobs on this host."),
    match: text("Only jobs with this in their name or id."),
    ...period,
    ...paging,
  }),
  example: { state: "running" },
  run: async ({ state, user, account, host, match, from, to, limit, offset }, { hub }) => {
    const parameters = { state, user, account, host, text: match, from, to, limit, offset };
    const route = routeOf("/api/jobs", parameters);
    const found = await readOptionalRoute(hub, route, listSchema);
    if (found === undefined) throw noLedger;
    return {
      summary: `${found.total} job${found.total === 1 ? "" : "s"}.`,
      columns: [
        { title: "JOB" },
        { title: "USER" },
        { title: "STATE" },
        { title: "STARTED" },
        { title: "GPUS" },
        { title: "GPU TIME", unit: "h" },
        { title: "USEFUL", unit: "%" },
        { title: "HELD IDLE", unit: "h" },
        { title: "ENERGY", unit: "kWh" },
        { title: "THROTTLED", unit: "h" },
        { title: "VERDICT" },
      ],
      rows: found.jobs.map((job) => {
        const known = job.gpuSeconds - job.unknownSeconds;
        return [
          name(job.id, 200),
          name(job.user),
          word(job.state),
          instant(job.startMs),
          number(job.gpus),
          number(hours(job.gpuSeconds), 2),
          number(known > 0 ? (100 * job.usefulSeconds) / known : undefined),
          number(hours(job.heldIdleSeconds), 2),
          number(job.joules / joulesPerKwh, 3),
          number(hours(job.throttledSeconds), 2),
          name(job.verdict, 160),
        ];
      }),
      offset,
      total: found.total,
      rerun: [{ route }],
      page: "jobs",
    };
  },
});

const oneSchema = v.object({
  job: jobSchema,
  cost: v.optional(v.number()),
  currency: v.optional(v.string()),
  co2Grams: v.optional(v.number()),
  nowMs: v.optional(v.number()),
});

export const showJob = defineTool({
  name: "show_job",
  title: "One job",
  description:
    "One job in full: efficiency, energy, cost, memory, a verdict, and the GPUs it ran on with their UUIDs.",
  input: v.strictObject({
    id: v.pipe(
      v.string("the id of a job"),
      v.minLength(1, "the id of a job"),
      v.maxLength(190, "the id of a job"),
      v.description("Id of the job as find or list_jobs return it, or the scheduler's number."),
    ),
    ...linePaging,
  }),
  example: { id: "4711" },
  run: async ({ id, limit, offset }, { hub }) => {
    const route = routeOf(`/api/jobs/${encodeURIComponent(id)}`);
    const found = await readOptionalRoute(hub, route, oneSchema);
    if (found === undefined) throw noLedger;
    const { job } = found;
    const facts = [
      ...jobFacts(job, found, found.nowMs),
      ["Verdict", judgeJob(job).join(" ")] as const,
      ...job.stretches.map((one): [string, string] => [
        "GPU used",
        `${one.uuid} on ${one.host}: ${hours(one.gpuSeconds).toFixed(2)} GPU-hours, ${(one.joules / joulesPerKwh).toFixed(3)} kWh`,
      ]),
    ];
    return {
      summary: "One job of the ledger.",
      columns: [{ title: "FACT" }, { title: "VALUE" }],
      rows: facts
        .slice(offset, offset + limit)
        .map(([fact, value]) => [word(fact), name(value, 300)]),
      offset,
      total: facts.length,
      rerun: [{ route }],
      page: pageOf("jobs", { id: job.id }),
    };
  },
});

export const billJobs = defineTool({
  name: "bill_jobs",
  title: "Bill of a period",
  description:
    "GPU-hours, useful and held-idle hours, energy, cost and CO2 of all jobs in a period, summed by user, account, project, controller, day, job or kind. Most energy first.",
  input: v.strictObject({
    by: oneOf("What to sum up by.", billGroups, "user"),
    ...period,
    ...paging,
  }),
  example: { by: "user", from: "7d" },
  run: async ({ by, from, to, limit, offset }, { hub }) => {
    const route = routeOf("/api/jobs/bill", { by, from, to });
    const bill = await readOptionalRoute(hub, route, billSchema);
    if (bill === undefined) throw noLedger;
    const lines = bill.lines.toSorted((a, b) => b.joules - a.joules);
    const sum = lines.reduce((total, { joules }) => total + joules, 0);
    return {
      summary: `${lines.length} line${lines.length === 1 ? "" : "s"} by ${by}, ${(sum / joulesPerKwh).toFixed(3)} kWh in total, from ${new Date(bill.fromMs).toISOString()} to ${new Date(bill.toMs).toISOString()}.`,
      columns: [
        { title: by.toUpperCase() },
        { title: "JOBS" },
        { title: "GPU TIME", unit: "h" },
        { title: "USEFUL", unit: "h" },
        { title: "HELD IDLE", unit: "h" },
        { title: "ENERGY", unit: "kWh" },
        { title: "COST" },
        { title: "CO2", unit: "kg" },
      ],
      rows: lines
        .slice(offset, offset + limit)
        .map((line) => [
          name(line.name, 200),
          number(line.jobs),
          number(hours(line.gpuSeconds), 2),
          number(hours(line.usefulSeconds), 2),
          number(hours(line.heldIdleSeconds), 2),
          number(line.joules / joulesPerKwh, 3),
          line.cost === undefined
            ? undefined
            : name(`${line.cost.toFixed(2)} ${bill.currency ?? ""}`.trim(), 30),
          number(line.co2Grams === undefined ? undefined : line.co2Grams / 1_000, 2),
        ]),
      offset,
      total: lines.length,
      rerun: [{ route }],
      page: "jobs",
    };
  },
});
