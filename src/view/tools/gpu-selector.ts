/** PromQL matchers for the GPUs that a tool's arguments select. */
import type * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { queryInstant } from "./hub-reader.ts";
import { literalPattern, promqlString, quoteText } from "./quote.ts";
import { text, type ToolContext } from "./tool.ts";

export const oneGpu = text(
  "One GPU: its UUID, the beginning of it, HOST:INDEX such as gpu-node-3:0, or the index where there is one host.",
);

/** Arguments that select GPUs. */
export const gpuArguments = {
  gpu: oneGpu,
  host: text("Only GPUs of this host, by its exact name."),
  model: text("Only GPUs with this in their model, such as H200."),
  owner: text("Only GPUs whose user, workload, pod or namespace is exactly this."),
};

export type GpuArguments = {
  readonly [Name in keyof typeof gpuArguments]?: v.InferOutput<(typeof gpuArguments)[Name]>;
};

/** `{host="a",uuid=~"GPU-1.*"}`; empty for all. */
export function deviceMatchers({ gpu, host }: GpuArguments, more: readonly string[] = []): string {
  const matchers = [
    ...(host === undefined ? [] : [`host=${promqlString(host)}`]),
    ...(gpu === undefined ? [] : gpuMatchers(gpu)),
    ...more,
  ];
  return matchers.length === 0 ? "" : `{${matchers.join(",")}}`;
}

function gpuMatchers(gpu: string): string[] {
  const place = /^(.+):(\d{1,4})$/.exec(gpu);
  if (place !== null)
    return [`host=${promqlString(place[1] ?? "")}`, `gpu=${promqlString(place[2] ?? "")}`];
  if (/^\d{1,3}$/.test(gpu)) return [`gpu=${promqlString(gpu)}`];
  return [`uuid=~${promqlString(`${literalPattern(gpu)}.*`)}`];
}

/** Restricts a vector to GPUs of a model and an owner, which only the info series contain. */
export function restrictTo({ model, owner }: GpuArguments): string {
  const parts: string[] = [];
  if (model !== undefined)
    parts.push(
      `and on (uuid, host) gpu_info{model=~${promqlString(`(?i).*${literalPattern(model)}.*`)}}`,
    );
  if (owner !== undefined) {
    const same = `=${promqlString(owner)}`;
    const any = ["user", "workload", "pod", "namespace"].map(
      (label) => `gpu_owner_info{${label}${same}}`,
    );
    parts.push(`and on (uuid, host) (${any.join(" or ")})`);
  }
  return parts.length === 0 ? "" : ` ${parts.join(" ")}`;
}

/**
 * Returns the UUID of the one GPU that an argument matches; undefined without an argument.
 * @throws GpulseError if no GPU matches, or several do
 */
export async function resolveGpu(
  gpu: string | undefined,
  { hub, nowMs }: ToolContext,
): Promise<string | undefined> {
  if (gpu === undefined) return undefined;
  // Also GPUs that were lost within the week.
  const known = `max by (uuid) (last_over_time(gpu_info${deviceMatchers({ gpu })}[7d]))`;
  const uuids = (await queryInstant(hub, known, nowMs)).map(({ labels }) => labels["uuid"] ?? "");
  if (uuids.includes(gpu)) return gpu;
  const [uuid, second] = uuids;
  if (uuid === undefined)
    throw new GpulseError(
      "SUBJECT_UNKNOWN",
      `No GPU of the last 7 days is ${quoteText(gpu)}: call find for their UUIDs.`,
    );
  if (second !== undefined)
    throw new GpulseError(
      "SUBJECT_UNKNOWN",
      `${uuids.length} GPUs match ${quoteText(gpu)}: give more of the UUID, or HOST:INDEX.`,
    );
  return uuid;
}

/** Says that a name selects nothing at all: an empty table could also mean that nothing is reported. */
export const unknownSubjectNote = ({ gpu, host }: GpuArguments): string[] =>
  gpu === undefined && host === undefined
    ? []
    : [
        `No ${gpu === undefined ? `host ${quoteText(host ?? "")}` : `GPU ${quoteText(gpu)}`} reports GPUs now: find lists hosts and GPUs.`,
      ];
