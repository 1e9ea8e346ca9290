/** Counts of a source's reads, from which the self-metrics and readiness are computed. No policy. */
import type { Tier } from "../model/catalogue/index.ts";
import type { Frame, RejectionReason } from "../model/frame.ts";
import { presence, type PresenceName, presenceNames } from "../model/presence.ts";
import type { SourceProcess } from "../sources/source.ts";

export type ReadOutcome = "ok" | "failed" | "late" | "invalid";
export type TierName = Tier | "stream";

export interface TierState {
  readonly tier: TierName;
  readonly reads: Record<ReadOutcome, number>;
  skippedTicks: number;
  /** Undefined until the first read has ended. */
  success?: boolean;
  lastDurationSeconds?: number;
  lastSuccessMs?: number;
  readings?: Record<PresenceName, number>;
  /** The last error message, while this tier is failing. */
  problem?: string;
  failuresInARow: number;
}

export interface RejectedCount {
  readonly metric: string;
  readonly reason: RejectionReason;
  readonly count: number;
}

export interface SourceState {
  readonly name: string;
  readonly tiers: Map<TierName, TierState>;
  /** Since when the current read is past its deadline. */
  hungSinceMs?: number;
  /** Number of input rows a stream rejected; absent if the stream does not count them. */
  rejectedRows?: () => number;
  /** Rejected readings by catalogue metric and reason; absent until there is one. */
  rejected?: Map<string, RejectedCount>;
  /** The helper process the source reads through; absent if it has none. */
  process?: () => SourceProcess;
  /** True for a stream that ended normally and has no more data. */
  ended?: boolean;
}

export function newSourceState(name: string, tiers: readonly TierName[]): SourceState {
  return {
    name,
    tiers: new Map(
      tiers.map((tier) => [
        tier,
        {
          tier,
          reads: { ok: 0, failed: 0, late: 0, invalid: 0 },
          skippedTicks: 0,
          failuresInARow: 0,
        },
      ]),
    ),
  };
}

export function tierState(state: SourceState, tier: TierName): TierState {
  const found = state.tiers.get(tier);
  if (found === undefined) throw new Error(`BUG: source ${state.name} has no tier ${tier}`);
  return found;
}

const stateCounts = new Uint32Array(256);

export function countReadings(frame: Frame): Record<PresenceName, number> {
  const counts = stateCounts.fill(0);
  const { presence: states } = frame;
  for (let slot = 0; slot < states.length; slot++) {
    const code = states[slot] ?? 0;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return {
    present: counts[presence.present] ?? 0,
    unsupported: counts[presence.unsupported] ?? 0,
    denied: counts[presence.denied] ?? 0,
    asleep: counts[presence.asleep] ?? 0,
    failed: counts[presence.failed] ?? 0,
    ended: counts[presence.ended] ?? 0,
    pending: counts[presence.pending] ?? 0,
    "exporter reports 0": counts[presence["exporter reports 0"]] ?? 0,
  };
}

/** Returns what is wrong with a returned frame; undefined if the frame is valid. */
export function findFrameProblem(candidate: unknown): string | undefined {
  if (typeof candidate !== "object" || candidate === null)
    return `it gave ${candidate === null ? "null" : typeof candidate}, not a frame`;
  const { timeMs, layout, values, presence: states } = candidate as Partial<Frame>;
  if (typeof timeMs !== "number" || !Number.isFinite(timeMs)) return "its frame has no time";
  if (!Array.isArray(layout?.series)) return "its frame has no layout";
  if (!(values instanceof Float64Array) || !(states instanceof Uint8Array))
    return "its frame has no columns";
  const { length } = layout.series;
  if (values.length !== length || states.length !== length) {
    return `its frame has ${values.length} values and ${states.length} presences for ${length} series`;
  }
  if (states.some((code) => code >= presenceNames.length))
    return "its frame has an unknown presence code";
  return undefined;
}
