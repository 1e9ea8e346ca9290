/** Silences: matchers, time range, author and comment. They survive restarts; expired ones are listed for five days. */
import { randomUUID } from "node:crypto";
import { GpulseError, formatError } from "../../base/error.ts";
import type { StateMap } from "../../base/state/state-map.ts";
import { quoteText } from "../../formats/template/printf.ts";
import {
  compilePattern,
  type LabelMatcher,
  labelMatcher,
  matchesAll,
  type MatchOp,
} from "./matchers.ts";

/** The form in the state folder. */
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
  /** The id of an existing silence to change. */
  readonly id?: string | undefined;
  readonly matchers: StoredSilence["matchers"];
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly createdBy: string;
  readonly comment: string;
}

const expiredRetentionMs = 5 * 86_400_000;
const maxMatchers = 100;

export function silenceState({ startsAtMs, endsAtMs }: StoredSilence, nowMs: number): SilenceState {
  return nowMs < startsAtMs ? "pending" : nowMs < endsAtMs ? "active" : "expired";
}

export class Silences {
  readonly #stored: StateMap<StoredSilence>;
  readonly #compiled = new Map<string, readonly LabelMatcher[]>();

  constructor(stored: StateMap<StoredSilence>) {
    this.#stored = stored;
  }

  get all(): readonly StoredSilence[] {
    return [...this.#stored.values()];
  }

  get(id: string): StoredSilence | undefined {
    return this.#stored.get(id);
  }

  /**
   * Creates or changes a silence and returns its id. A change that would affect the past expires the old silence and creates a
   * new one.
   */
  set(request: SilenceRequest, nowMs: number): string {
    checkTimes(request, nowMs);
    const before = request.id === undefined ? undefined : this.#stored.get(request.id);
    if (request.id !== undefined && before === undefined) refuse(silenceNotFound);
    checkMatchers(request);
    const matchers = request.matchers.map(({ name, op, value }) => ({ name, op, value }));
    const { startsAtMs, endsAtMs, createdBy, comment } = request;
    const wanted = { matchers, startsAtMs, endsAtMs, createdBy, comment, updatedAtMs: nowMs };
    if (before !== undefined && canChange(before, wanted, nowMs)) {
      this.#stored.put(before.id, { ...wanted, id: before.id });
      return before.id;
    }
    if (before !== undefined) this.expire(before.id, nowMs);
    const id = randomUUID();
    this.#stored.put(id, { ...wanted, id, startsAtMs: Math.max(startsAtMs, nowMs) });
    return id;
  }

  /** Ends a silence now; an expired one stays unchanged. */
  expire(id: string, nowMs: number): void {
    const silence = this.#stored.get(id);
    if (silence === undefined) return refuse(silenceNotFound);
    const state = silenceState(silence, nowMs);
    if (state === "expired") return;
    const startsAtMs = state === "pending" ? nowMs : silence.startsAtMs;
    this.#stored.put(id, { ...silence, startsAtMs, endsAtMs: nowMs, updatedAtMs: nowMs });
  }

  /** Returns the ids of the active silences that mute an alert. */
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
      if (endsAtMs + expiredRetentionMs >= nowMs) continue;
      this.#stored.delete(id);
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

type NewSilence = Omit<StoredSilence, "id">;

/**
 * True if a silence can be changed in place: same matchers; an active one keeps its start, a pending one starts in the future.
 */
function canChange(before: StoredSilence, wanted: NewSilence, nowMs: number): boolean {
  if (JSON.stringify(before.matchers) !== JSON.stringify(wanted.matchers)) return false;
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  switch (silenceState(before, nowMs)) {
    case "active":
      return seconds(before.startsAtMs) === seconds(wanted.startsAtMs) && wanted.endsAtMs >= nowMs;
    case "pending":
      return wanted.startsAtMs >= nowMs;
    case "expired":
      return false;
  }
}

/** Alertmanager's message, which its clients show. */
export const silenceNotFound = "silence not found";

function refuse(sentence: string): never {
  throw new GpulseError("SILENCE", sentence);
}

function checkTimes({ startsAtMs, endsAtMs }: SilenceRequest, nowMs: number): void {
  if (startsAtMs >= endsAtMs)
    refuse("Failed to create silence: start time must be before end time");
  if (endsAtMs < nowMs) refuse("Failed to create silence: end time can't be in the past");
}

function checkMatchers({ matchers }: SilenceRequest): void {
  if (matchers.length === 0) refuse("silence invalid: at least one matcher required");
  if (matchers.length > maxMatchers)
    refuse(`silence invalid: at most ${maxMatchers} matchers are allowed`);
  const empty = matchers.map(({ name, op, value }, index) => {
    if (name === "")
      refuse(`silence invalid: invalid label matcher ${index}: invalid label name ""`);
    if (op === "=" || op === "!=") return op === "=" && value === "";
    try {
      return compilePattern(value).matcher("").find() && op === "=~";
    } catch (thrown) {
      return refuse(
        `silence invalid: invalid label matcher ${index}: invalid regular expression ${quoteText(value)}: ${formatError(thrown)}`,
      );
    }
  });
  if (empty.every(Boolean))
    refuse("silence invalid: at least one matcher must not match the empty string");
}
