/** What is known about a source's reads: the raw matter of the self-metrics and of readiness. Counts only, no policy. */
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
  /** Undefined until a first read has ended. */
  success?: boolean;
  lastDurationSeconds?: number;
  lastSuccessMs?: number;
  readings?: Record<PresenceName, number>;
  /** The last error's sentence while this tier is failing. */
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
  /** Since when the read in progress is past its deadline. */
  hungSinceMs?: number;
  /** Rows of its input a stream could not use; absent where it does not count them. */
  rejectedRows?: () => number;
  /** Readings that were rejected, by catalogue metric and reason; absent until there is one. */
  rejected?: Map<string, RejectedCount>;
  /** The process it reads through; absent where it has none. */
  process?: () => SourceProcess;
  /** A stream that came to its end has nothing more to deliver, and that is well. */
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

/** The defect of what a source returned; undefined for a valid frame. */
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
