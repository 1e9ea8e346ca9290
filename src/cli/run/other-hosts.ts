/** Reads other machines of a run from the hub their agents push to: their samples over the run's time span, on this machine's clock. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { columnOf } from "../../model/columns.ts";
import { findMetric } from "../../model/catalogue/index.ts";
import { type Device, deviceFromLabels, unidentifiedDevice } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import { TraceBuilder } from "../../runs/record/trace-builder.ts";
import type { RunHost, RunTrace, RunSpan } from "../../runs/run.ts";
import type { HubClient } from "../hub-client.ts";

type Hub = Pick<HubClient, "ask" | "call">;

export interface OtherHosts {
  readonly trace: RunTrace;
  readonly devices: readonly (Device & { readonly host: string })[];
  readonly hosts: readonly RunHost[];
  readonly notes: readonly string[];
}

const agentsSchema = v.object({
  agents: v.array(
    v.looseObject({ host: v.string(), clockDifferenceSeconds: v.optional(v.number()) }),
  ),
});
const series = v.looseObject({
  metric: v.record(v.string(), v.string()),
  values: v.array(v.tuple([v.number(), v.string()])),
});
const matrix = v.looseObject({ result: v.array(series) });
const scalar = v.looseObject({ result: v.tuple([v.number(), v.string()]) });
const vector = v.looseObject({
  result: v.array(
    v.looseObject({
      metric: v.record(v.string(), v.string()),
      value: v.tuple([v.number(), v.string()]),
    }),
  ),
});

/** Waits for the agents to send their last samples. */
export const settleMs = 3_000;

export async function readOtherHosts(
  hub: Hub,
  hosts: readonly string[],
  span: RunSpan,
  nowMs: () => number,
): Promise<OtherHosts> {
  const ahead = await hubAheadMs(hub, nowMs);
  const { agents } = v.parse(agentsSchema, (await hub.call("GET", "/api/agents")).body);
  const builder = new TraceBuilder();
  const devices: (Device & { readonly host: string })[] = [];
  const found: RunHost[] = [];
  const notes: string[] = [];
  for (const host of hosts) {
    const agent = agents.find((one) => one.host === host);
    // The hub reports its own clock minus the agent's; this machine's clock is `ahead` behind the hub's.
    const difference =
      agent?.clockDifferenceSeconds === undefined
        ? undefined
        : ahead - agent.clockDifferenceSeconds * 1_000;
    const read = await readHost(hub, host, span, difference ?? 0);
    if (read.length === 0) {
      notes.push(`The hub has no GPU readings of ${host} for this run.`);
      continue;
    }
    notes.push(clockNote(host, difference));
    for (const labels of await whoIsOn(hub, host, span[1] + (difference ?? 0)))
      addDevice(devices, host, labels);
    for (const one of read) {
      const uuid = addDevice(devices, host, one.metric);
      const metric = findMetric(one.metric["__name__"] ?? "");
      if (metric === undefined) continue;
      const labels = Object.fromEntries(
        Object.entries(one.metric).filter(([name]) => !ofTheHub.has(name)),
      );
      const column = columnOf({ metric, suffix: "", labels: labelSet(labels) });
      if (column === undefined) continue;
      for (const [seconds, text] of one.values)
        builder.add(uuid, Math.round(seconds * 1_000 - (difference ?? 0)), [column], () =>
          Number(text),
        );
    }
    found.push({
      host,
      ...(difference === undefined ? {} : { clockDifferenceMs: Math.round(difference) }),
    });
  }
  return { trace: builder.build(), devices: named(devices), hosts: found, notes };
}

/** Labels of storage, not of the GPU. */
const ofTheHub = new Set(["__name__", "job", "instance"]);

const clockNote = (host: string, difference: number | undefined): string =>
  difference === undefined
    ? `The hub does not know the clock offset of ${host}: its readings keep their own timestamps.`
    : `The clock of ${host} is about ${Math.abs(Math.round(difference))} ms ${difference < 0 ? "behind" : "ahead of"} this machine's; its readings were moved by that.`;

/** The increase of an expression over the span, summed over its series. */
export async function workOnHub(
  hub: Hub,
  query: string,
  span: RunSpan,
): Promise<number | undefined> {
  const [from, to] = await Promise.all(
    span.map(async (timeMs) => {
      const data = await hub.ask("/api/v1/query", {
        query: `sum(${query})`,
        time: String(timeMs / 1_000),
      });
      const [only] = v.parse(vector, data).result;
      return only === undefined ? undefined : Number(only.value[1]);
    }),
  );
  return from === undefined || to === undefined ? undefined : to - from;
}

async function readHost(
  hub: Hub,
  host: string,
  [fromMs, toMs]: RunSpan,
  difference: number,
): Promise<v.InferOutput<typeof matrix>["result"]> {
  const seconds = Math.ceil((toMs - fromMs) / 1_000) + 1;
  const data = await hub.ask("/api/v1/query", {
    query: `{__name__=~"gpu_.+",host=${JSON.stringify(host)},uuid!=""}[${seconds}s]`,
    time: String((toMs + difference) / 1_000),
  });
  const checked = v.safeParse(matrix, data);
  if (!checked.success)
    throw new GpulseError("QUERY_FAILED", "The response is not that of a gpulse hub. Check --url.");
  return checked.output.result;
}

/** `gpu_info` is sent about once a minute: uses the newest within ten minutes. */
async function whoIsOn(
  hub: Hub,
  host: string,
  atMs: number,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const data = await hub.ask("/api/v1/query", {
    query: `last_over_time(gpu_info{host=${JSON.stringify(host)}}[10m])`,
    time: String(atMs / 1_000),
  });
  return v.parse(vector, data).result.map(({ metric }) => metric);
}

/**
 * A GPU without `gpu_info` is identified by its uuid alone. Returns its uuid in the run: with its host if another host reports
 * the same uuid.
 */
function addDevice(
  devices: (Device & { readonly host: string })[],
  host: string,
  labels: Readonly<Record<string, string>>,
): string {
  const { uuid: own = "", gpu } = labels;
  const isTaken = devices.some((device) => device.uuid === own && device.host !== host);
  const uuid = isTaken ? `${own}@${host}` : own;
  if (devices.some((device) => device.uuid === uuid)) return uuid;
  const device = deviceFromLabels({ model: own, ...labels, uuid });
  devices.push({ ...(device ?? { ...unidentifiedDevice(uuid, gpu), model: own }), host });
  return uuid;
}

const named = <T extends Device>(devices: readonly T[]): readonly T[] =>
  devices.toSorted((one, other) => one.index - other.index);

/** Half the round trip is the best estimate of the latency. */
async function hubAheadMs(hub: Hub, nowMs: () => number): Promise<number> {
  const sent = nowMs();
  const data = await hub.ask("/api/v1/query", { query: "time()" });
  const received = nowMs();
  const [, text] = v.parse(scalar, data).result;
  return Number(text) * 1_000 - (sent + received) / 2;
}
