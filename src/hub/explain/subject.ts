/** Resolves the subject of a request (a GPU, host, job or alert) to GPUs and a time. */
import { fingerprintOf } from "../../alerting/route/fingerprint.ts";
import type { Queryable } from "../../model/select.ts";
import type { Explanation, SubjectKind } from "../../view/explain/explanation.ts";
import type { GpuIdentity } from "../../view/explain/fleet-cells.ts";
import type { AlertingEngine } from "../alerts/alerting.ts";
import type { HubJobs } from "../jobs/jobs.ts";
import { JobQueries } from "../jobs/query.ts";
import { findGpus, mostGpus } from "./read.ts";

export interface ExplainContext {
  readonly history: Pick<Queryable, "series" | "select">;
  readonly alerting?: AlertingEngine | undefined;
  readonly jobs?: HubJobs | undefined;
  readonly nowMs: () => number;
}

export interface ResolvedSubject {
  readonly subject: Explanation["subject"];
  readonly gpus: readonly GpuIdentity[];
  readonly timeMs: number;
  readonly asksIdle: boolean;
}

/** `missing`: an error sentence if the subject does not exist. */
export type SubjectResult = ResolvedSubject | { readonly missing: string };

/** @param timeMs requested time; absent: now, the job's end or the alert's start */
export async function resolveSubject(
  context: ExplainContext,
  kind: SubjectKind,
  id: string,
  timeMs: number | undefined,
): Promise<SubjectResult> {
  switch (kind) {
    case "gpu":
      return gpuSubject(context, id, timeMs ?? context.nowMs());
    case "host":
      return hostSubject(context, id, timeMs ?? context.nowMs());
    case "job":
      return jobSubject(context, id, timeMs);
    case "alert":
      return alertSubject(context, id, timeMs);
  }
}

const shown = (text: string): string => JSON.stringify(text.slice(0, 100));

/** Accepts `UUID`, `UUID@HOST` if two machines report the same one, the first characters of a UUID, `HOST:INDEX`, or an index alone. */
async function gpuSubject(
  { history }: ExplainContext,
  id: string,
  timeMs: number,
): Promise<SubjectResult> {
  const found = await namedGpus(history, id, timeMs);
  const [gpu, another] = found;
  if (gpu === undefined)
    return { missing: `No GPU ${shown(id)} reported in the day before that moment.` };
  if (another !== undefined)
    return {
      missing: `${found.length} GPUs match ${shown(id)}: name one, such as ${another.uuid}@${another.host}.`,
    };
  const label = `GPU ${gpu.index} of ${gpu.host} (${gpu.model})`;
  return { subject: { kind: "gpu", id: gpu.uuid, label }, gpus: [gpu], timeMs, asksIdle: false };
}

const leastPrefix = 6;

async function namedGpus(
  history: ExplainContext["history"],
  id: string,
  timeMs: number,
): Promise<GpuIdentity[]> {
  const at = id.lastIndexOf("@");
  const uuid = at <= 0 ? id : id.slice(0, at);
  const host = at <= 0 ? undefined : id.slice(at + 1);
  const exact = await findGpus(history, timeMs, { name: "uuid", op: "=", value: uuid });
  if (exact.length > 0) return exact.filter((one) => host === undefined || one.host === host);
  const place = /^(.+):(\d{1,4})$/.exec(id);
  if (place !== null)
    return findGpus(
      history,
      timeMs,
      { name: "host", op: "=", value: place[1] ?? "" },
      { name: "gpu", op: "=", value: place[2] ?? "" },
    );
  if (/^\d{1,3}$/.test(id)) return findGpus(history, timeMs, { name: "gpu", op: "=", value: id });
  if (id.length < leastPrefix) return [];
  const all = await findGpus(history, timeMs);
  return all.filter((one) => one.uuid.startsWith(id));
}

async function hostSubject(
  { history }: ExplainContext,
  id: string,
  timeMs: number,
): Promise<SubjectResult> {
  const gpus = await findGpus(history, timeMs, { name: "host", op: "=", value: id });
  if (gpus.length === 0)
    return { missing: `No machine ${shown(id)} reported a GPU in the day before that moment.` };
  return {
    subject: { kind: "host", id, label: id },
    gpus: gpus.slice(0, mostGpus),
    timeMs,
    asksIdle: false,
  };
}

async function jobSubject(
  { jobs, nowMs }: ExplainContext,
  id: string,
  asked: number | undefined,
): Promise<SubjectResult> {
  if (jobs === undefined) return { missing: "This hub keeps no job ledger." };
  const job = await new JobQueries(jobs, nowMs).find(id);
  if (job === undefined) return { missing: `There is no job ${shown(id)} in the ledger.` };
  const timeMs = asked ?? (job.end === "open" ? nowMs() : job.endMs);
  const running = job.stretches.filter(
    ({ fromMs, toMs }) => fromMs <= timeMs && toMs >= timeMs - 10 * 60_000,
  );
  const stretches = (running.length > 0 ? running : job.stretches).slice(0, mostGpus);
  const gpus = stretches.map(({ uuid, host, gpu, model }): GpuIdentity => ({
    uuid,
    host,
    index: String(gpu),
    model,
    vendor: "unknown",
  }));
  const unique = [...new Map(gpus.map((one) => [`${one.host}\n${one.uuid}`, one])).values()];
  return {
    subject: { kind: "job", id: job.id, label: `job ${job.name}` },
    gpus: unique,
    timeMs,
    asksIdle: job.end === "open",
  };
}

const idleAlerts = new Set(["GpuIdle", "GpuMemoryHeldIdle"]);

async function alertSubject(
  context: ExplainContext,
  id: string,
  asked: number | undefined,
): Promise<SubjectResult> {
  const alert = findAlert(context, id);
  if (alert === undefined)
    return { missing: `No alert with the fingerprint ${shown(id)} is active.` };
  const { labels, startsAtMs } = alert;
  const timeMs = asked ?? startsAtMs;
  const uuid = labels.get("uuid");
  const host = labels.get("host") ?? labels.get("instance")?.replace(/:\d+$/, "");
  const name = labels.get("alertname") ?? "alert";
  const { history } = context;
  const gpus =
    uuid !== undefined
      ? await findGpus(history, timeMs, { name: "uuid", op: "=", value: uuid })
      : host === undefined
        ? []
        : await findGpus(history, timeMs, { name: "host", op: "=", value: host });
  const own = gpus.filter((one) => host === undefined || one.host === host).slice(0, mostGpus);
  if (own.length === 0)
    return {
      missing: `The alert ${shown(name)} names no GPU or machine that reported in the day before it started.`,
    };
  const [first] = own;
  const place =
    own.length === 1 && first !== undefined ? `GPU ${first.index} of ${first.host}` : (host ?? "");
  return {
    subject: { kind: "alert", id, label: `${name} on ${place}` },
    gpus: own,
    timeMs,
    asksIdle: idleAlerts.has(name),
  };
}

interface FoundAlert {
  readonly labels: ReadonlyMap<string, string>;
  readonly startsAtMs: number;
}

/** Finds the alert in the hub's router, or among the rules' alerts, which are pending or routed by an external Alertmanager. */
function findAlert({ alerting }: ExplainContext, fingerprint: string): FoundAlert | undefined {
  const routed = alerting?.sink.routing?.router.alerts.find(
    (alert) => alert.fingerprint === fingerprint,
  );
  if (routed !== undefined) return routed;
  for (const group of alerting?.groups ?? [])
    for (const { alerting: rule } of group.runs)
      for (const { labels, activeAtMs, firedAtMs } of rule?.active ?? [])
        if (fingerprintOf(labels) === fingerprint)
          return { labels, startsAtMs: firedAtMs ?? activeAtMs };
  return undefined;
}
