/** The sources of a run: live ones only, with additional options enabled where the vendor's source supports them. */
import { sourceContext } from "../../agent/run.ts";
import type { Settings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { type OpenSource, openSources, resolveAuto, type SourceSpec } from "../../sources/open.ts";

/** Processes on the GPU, and NVIDIA's energy counter once a second instead of every five. */
const wanted: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  nvidia: [
    ["processes", "true"],
    ["slow-every", "1s"],
  ],
  amd: [["processes", "true"]],
  intel: [["processes", "true"]],
};

export async function openRunSources(settings: Settings, log: Log): Promise<OpenSource[]> {
  const context = sourceContext(settings, log);
  const specs = await resolveAuto(settings.sources, context);
  const opened = await openSources(specs.map(withRunMetrics), context);
  const stream = opened.find(({ source }) => source.shape !== "polled");
  if (stream === undefined) return opened;
  await Promise.allSettled(opened.map(async ({ source }) => source.close()));
  throw new GpulseError(
    "USAGE",
    `The source ${stream.name} is a stream, and a run records what happens now: name a live source with --source.`,
  );
}

/** Adds options that the user has not set. */
export function withRunMetrics(spec: SourceSpec): SourceSpec {
  if (typeof spec !== "string") return spec;
  const more = (wanted[spec.split(":", 1)[0] ?? ""] ?? []).filter(
    ([name]) => !new RegExp(`[?&]${name}=`).test(spec),
  );
  if (more.length === 0) return spec;
  const text = more.map(([name, value]) => `${name}=${value}`).join("&");
  return `${spec}${spec.includes("?") ? "&" : "?"}${text}`;
}
