/** Silences: who keeps which alerts quiet, until when, and why. Kept across restarts; expired ones are kept for a while, to be seen. */
import { randomUUID } from "node:crypto";
import { GpulseError } from "../../errors/error.ts";
import type { StateMap } from "../../state/state-map.ts";
import type { LabelMatcher, MatchOp } from "./matchers.ts";
import { labelMatcher, matchesAll } from "./matchers.ts";

/** As it is kept. */
export interface StoredSilence {
  readonly id: string;
  readonly matchers: readonly {
    readonly name: string;
    readonly op: MatchOp;
    readonly value: string;
  }[];
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly updatedAtMs: number;
  readonly createdBy: string;
  readonly comment: string;
}

export type SilenceState = "active" | "pending" | "expired";

export interface SilenceRequest {
  /** To change one that is there. */
  readonly id?: string | undefined;
  readonly matchers: StoredSilence["matchers"];
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly createdBy: string;
  readonly comment: string;
}

const keptAfterEndMs = 5 * 86_400_000;

export function silenceState({ startsAtMs, endsAtMs }: StoredSilence, nowMs: number): SilenceState {
  return nowMs < startsAtMs ? "pending" : nowMs < endsAtMs ? "active" : "expired";
}

export class Silences {
  readonly #kept: StateMap<StoredSilence>;
  readonly #compiled = new Map<string, readonly LabelMatcher[]>();

  constructor(kept: StateMap<StoredSilence>) {
    this.#kept = kept;
  }

  get all(): readonly StoredSilence[] {
    return [...this.#kept.values()];
  }

  get(id: string): StoredSilence | undefined {
    return this.#kept.get(id);
  }

  /** Makes or changes one and returns its id: other matchers, or one that has ended, make a new one. */
  set(request: SilenceRequest, nowMs: number): string {
    check(request, nowMs);
    const before = request.id === undefined ? undefined : this.#kept.get(request.id);
    if (request.id !== undefined && before === undefined)
      throw new GpulseError("SILENCE", `There is no silence ${request.id}.`);
    const same =
      before !== undefined &&
      silenceState(before, nowMs) !== "expired" &&
      JSON.stringify(before.matchers) === JSON.stringify(request.matchers);
    if (before !== undefined && !same && silenceState(before, nowMs) !== "expired")
      this.expire(before.id, nowMs);
    const id = same ? before.id : randomUUID();
    this.#kept.put(id, {
      ...request,
      id,
      // One that runs keeps its start; a new one cannot start in the past.
      startsAtMs:
        same && silenceState(before, nowMs) === "active"
          ? before.startsAtMs
          : Math.max(request.startsAtMs, nowMs),
      updatedAtMs: nowMs,
    });
    this.#compiled.delete(id);
    return id;
  }

  expire(id: string, nowMs: number): void {
    const silence = this.#kept.get(id);
    if (silence === undefined) throw new GpulseError("SILENCE", `There is no silence ${id}.`);
    if (silenceState(silence, nowMs) === "expired")
      throw new GpulseError("SILENCE", `The silence ${id} has already expired.`);
    this.#kept.put(id, {
      ...silence,
      startsAtMs: Math.min(silence.startsAtMs, nowMs),
      endsAtMs: nowMs,
      updatedAtMs: nowMs,
    });
  }

  /** The ids of the active silences that keep this alert quiet. */
  mutedBy(labels: ReadonlyMap<string, string>, nowMs: number): readonly string[] {
    return this.all
      .filter(
        (silence) =>
          silenceState(silence, nowMs) === "active" && matchesAll(this.#matchers(silence), labels),
      )
      .map(({ id }) => id);
  }

  forgetExpired(nowMs: number): void {
    for (const { id, endsAtMs } of this.all) {
      if (endsAtMs + keptAfterEndMs >= nowMs) continue;
      this.#kept.delete(id);
      this.#compiled.delete(id);
    }
  }

  #matchers(silence: StoredSilence): readonly LabelMatcher[] {
    const known = this.#compiled.get(silence.id);
    if (known !== undefined) return known;
    const made = silence.matchers.map(({ name, op, value }) => labelMatcher(name, op, value));
    this.#compiled.set(silence.id, made);
    return made;
  }
}

function check({ matchers, startsAtMs, endsAtMs, createdBy }: SilenceRequest, nowMs: number): void {
  const refuse = (sentence: string): never => {
    throw new GpulseError("SILENCE", sentence);
  };
  if (matchers.length === 0) refuse("A silence needs at least one matcher.");
  if (matchers.length > 100) refuse("A silence takes at most 100 matchers.");
  const compiled = matchers.map(({ name, op, value }) => labelMatcher(name, op, value));
  if (compiled.every(({ matches }) => matches("")))
    refuse(
      "A silence needs a matcher that does not match the empty label: this one would silence everything.",
    );
  if (!(endsAtMs > startsAtMs)) refuse("A silence must end after it starts.");
  if (endsAtMs <= nowMs) refuse("A silence must end in the future.");
  if (createdBy === "") refuse("A silence needs the name of who made it.");
}
