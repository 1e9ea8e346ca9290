/**
 * A frame as JSON, for pipes and people.
 *
 *   {"time":"2026-01-01T00:00:00.000Z","source":"sim","tier":"fast","readings":[
 *     {"name":"gpu_power_watts","unit":"watts","labels":{"gpu":"0",…},"value":83.2},
 *     {"name":"gpu_fan_rpm","unit":"rpm","labels":{…},"absent":"unsupported"}],
 *   "tags":{"GPU-1":["high_power"]}}          only if a stream set tags
 */
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import { presence, presenceNames } from "../../model/presence.ts";

/** The constant part of each reading, cached per layout. */
const heads = new WeakMap<Layout, readonly string[]>();

function headsOf(layout: Layout): readonly string[] {
  const known = heads.get(layout);
  if (known !== undefined) return known;
  const made = layout.series.map(({ metric, suffix, labels }) =>
    JSON.stringify({
      name: metric.name + suffix,
      unit: metric.unit,
      labels: Object.fromEntries(labels),
    }).slice(0, -1),
  );
  heads.set(layout, made);
  return made;
}

export function frameToJson(
  frame: Frame,
  source: string,
  tier: string,
  tags?: ReadonlyMap<string, readonly string[]>,
): string {
  const parts = headsOf(frame.layout).map((head, slot) => {
    const state = frame.presence[slot] ?? presence.failed;
    const tail =
      state === presence.present
        ? `"value":${jsonNumber(frame.values[slot] ?? 0)}`
        : `"absent":"${presenceNames[state]}"`;
    return `${head},${tail}}`;
  });
  const time = new Date(frame.timeMs).toISOString();
  const found = tags === undefined ? "" : `,"tags":${JSON.stringify(Object.fromEntries(tags))}`;
  return `{"time":"${time}","source":${JSON.stringify(source)},"tier":"${tier}","readings":[${parts.join(",")}]${found}}`;
}

/** JSON has no infinities: they are written as text. */
function jsonNumber(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}
