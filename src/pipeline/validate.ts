/** Guards the pipeline against a source that returns something that is no frame. */
import type { Frame } from "../model/frame.ts";
import { presenceNames } from "../model/presence.ts";

/** What is wrong with it, or undefined for a sound frame. */
export function findFrameProblem(candidate: unknown): string | undefined {
  if (typeof candidate !== "object" || candidate === null)
    return `it gave ${candidate === null ? "null" : typeof candidate}, not a frame`;
  const { timeMs, layout, values, presence } = candidate as Partial<Frame>;
  if (typeof timeMs !== "number" || !Number.isFinite(timeMs)) return "its frame has no time";
  if (!Array.isArray(layout?.series)) return "its frame has no layout";
  if (!(values instanceof Float64Array) || !(presence instanceof Uint8Array))
    return "its frame has no columns";
  const { length } = layout.series;
  if (values.length !== length || presence.length !== length) {
    return `its frame has ${values.length} values and ${presence.length} presences for ${length} series`;
  }
  if (presence.some((code) => code >= presenceNames.length))
    return "its frame has an unknown presence code";
  return undefined;
}
