/** The tool that finds GPUs, hosts and jobs by a part of a name. */
import * as v from "valibot";
import { jobSummarySchema } from "../jobs/summary.ts";
import { name, number, pageOf, type ToolAnswer, word } from "./answer.ts";
import { byPlace, idOf, indexCell, ownersBy } from "./devices.ts";
import {
  type ToolSample,
  queryInstant,
  readOptionalRoute,
  rerunPromql,
  routeOf,
  seriesLimit,
} from "./hub-reader.ts";
import { literalPattern, promqlString } from "./quote.ts";
import { defineTool, oneOf, paging, text, type ToolContext } from "./tool.ts";

const findInput = v.strictObject({
  kind: oneOf("What to find.", ["gpu", "host", "job"], "gpu"),
  match: text(
    "Text in the UUID, host, model, user, workload, pod or namespace of a GPU, in a host's name, or in a job's name or id.",
  ),
  ...paging,
});
type FindInput = v.InferOutput<typeof findInput>;

export const find = defineTool({
  name: "find",
  title: "Find GPUs, hosts or jobs",
  description:
    "Finds GPUs (UUID, host, index, model, owner), hosts (GPUs and power of each) or jobs by a part of a name. Start here: other tools take the UUIDs, host names and job ids it returns.",
  input: findInput,
  example: { kind: "gpu", match: "H200" },
  run: async (input, context) => {
    if (input.kind === "job") return findJobs(input, context);
    return input.kind === "host" ? findHosts(input, context) : findGpus(input, context);
  },
});

const containing = (match: string): string => promqlString(`(?i).*${literalPattern(match)}.*`);

async function findGpus({ match, limit, offset }: FindInput, { hub, nowMs }: ToolContext) {
  const owners = ["user", "workload", "pod", "namespace"];
  const all =
    match === undefined
      ? "gpu_info"
      : [
          ...["uuid", "host", "model"].map((label) => `gpu_info{${label}=~${containing(match)}}`),
          `gpu_info and on (uuid, host) (${owners
            .map((label) => `gpu_owner_info{${label}=~${containing(match)}}`)
            .join(" or ")})`,
        ].join(" or ");
  const found = [...(await queryInstant(hub, all, nowMs))].sort(byPlace);
  const total = await totalOf(found, all, { hub, nowMs });
  const shown = found.slice(offset, offset + limit);
  const ownersOf = await ownersBy(`gpu_owner_info and on (uuid, host) (${all})`, { hub, nowMs });
  return {
    summary: `${total} GPU${total === 1 ? "" : "s"} found.`,
    columns: ["UUID", "HOST", "GPU", "MODEL", "VENDOR", "OWNER", "SIMULATED"].map((title) => ({
      title,
    })),
    rows: shown.map(({ labels }) => [
      name(labels["uuid"], 100),
      name(labels["host"]),
      indexCell(labels["gpu"]),
      name(labels["model"]),
      name(labels["vendor"], 20),
      name(ownersOf.get(idOf(labels))),
      word(labels["simulated"] === "true" ? "yes" : "no"),
    ]),
    offset,
    total,
    rerun: [rerunPromql(all)],
    page: pageOf("fleet", { q: match }),
  };
}

/** Returns the total number of series. A query returns no more series than the limit: only then is a second query needed. */
async function totalOf(
  found: readonly ToolSample[],
  promql: string,
  { hub, nowMs }: ToolContext,
): Promise<number> {
  if (found.length < seriesLimit) return found.length;
  return (await queryInstant(hub, `count(${promql})`, nowMs))[0]?.value ?? found.length;
}

async function findHosts(
  { match, limit, offset }: FindInput,
  { hub, nowMs }: ToolContext,
): Promise<ToolAnswer> {
  const matchers = match === undefined ? "" : `{host=~${containing(match)}}`;
  const count = `count by (host) (gpu_info${matchers})`;
  const power = `sum by (host) (gpu_power_watts${matchers})`;
  const busy = `avg by (host) (gpu_utilization_ratio${matchers}) * 100`;
  const found = [...(await queryInstant(hub, count, nowMs))].sort(byPlace);
  const total = await totalOf(found, count, { hub, nowMs });
  const byHost = async (promql: string): Promise<ReadonlyMap<string, number>> =>
    new Map(
      (await queryInstant(hub, promql, nowMs)).map(({ labels, value }) => [
        labels["host"] ?? "",
        value,
      ]),
    );
  const [powers, shares] = [await byHost(power), await byHost(busy)];
  return {
    summary: `${total} host${total === 1 ? "" : "s"} with GPUs found.`,
    columns: [
      { title: "HOST" },
      { title: "GPUS" },
      { title: "POWER", unit: "W" },
      { title: "UTILIZATION", unit: "%" },
    ],
    rows: found
      .slice(offset, offset + limit)
      .map(({ labels: { host = "" }, value }) => [
        name(host),
        number(value),
        number(powers.get(host)),
        number(shares.get(host)),
      ]),
    offset,
    total,
    rerun: [
      rerunPromql(count, "GPUS"),
      rerunPromql(power, "POWER"),
      rerunPromql(busy, "UTILIZATION"),
    ],
    page: pageOf("fleet", { q: match }),
  };
}

async function findJobs(
  { match, limit, offset }: FindInput,
  { hub }: ToolContext,
): Promise<ToolAnswer> {
  const route = routeOf("/api/jobs", { text: match, limit, offset });
  const schema = v.object({ jobs: v.array(jobSummarySchema), total: v.number() });
  const { jobs, total } = (await readOptionalRoute(hub, route, schema)) ?? { jobs: [], total: 0 };
  return {
    summary: `${total} job${total === 1 ? "" : "s"} of the last 7 days found.`,
    columns: ["JOB", "NAME", "USER", "STATE", "GPUS", "HOSTS"].map((title) => ({ title })),
    rows: jobs.map((job) => [
      name(job.id, 200),
      name(job.name),
      name(job.user),
      word(job.state),
      number(job.gpus),
      name(job.hosts.slice(0, 8).join(", ")),
    ]),
    offset,
    total,
    rerun: [{ route }],
    page: "jobs",
  };
}
