/** A hub's JSON response to a push: the acknowledged position, the definitions it needs, and its capabilities. */
import * as v from "valibot";
import { formatVersion } from "./request.ts";

export interface MissingDefinitions {
  readonly layouts: readonly string[];
  readonly devices: readonly string[];
  readonly metrics: readonly string[];
}

const names = () => v.optional(v.pipe(v.array(v.string()), v.maxLength(1_000_000)), []);

/** Keys a newer hub adds are left alone. */
const answerSchema = v.object({
  /** The newest sequence of this session that the hub's log holds; 0 for none. */
  acknowledged: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  needs: v.optional(v.object({ layouts: names(), devices: names(), metrics: names() })),
  /** Versions of the format the hub reads. */
  formats: v.optional(v.array(v.number())),
  /** Kinds of record in this request the hub passed over. */
  unknownKinds: v.optional(v.array(v.number())),
  /** Readings of this request that are from the future by the hub's clock and were refused for good: the agent cannot hold them. */
  tooNew: v.optional(v.number()),
  /** The hub's clock as it answered, and the times of frames that it accepts. */
  clock: v.optional(v.object({ nowMs: v.number(), oldestMs: v.number(), newestMs: v.number() })),
  version: v.optional(v.string()),
  capabilities: v.optional(v.array(v.string())),
  error: v.optional(v.string()),
});

export type PushResponse = v.InferOutput<typeof answerSchema>;
export type HubClock = NonNullable<PushResponse["clock"]>;

/** The agent holds, or stamps again, frames whose time the hub does not accept, instead of having them acknowledged. */
export const clockCapability = "clock/1";
/** What this version can; a newer one may add words, and each side leaves alone what it does not know. */
export const capabilities: readonly string[] = ["frames/1", "goodbye", clockCapability];

export const isAccepted = ({ oldestMs, newestMs }: HubClock, timeMs: number): boolean =>
  timeMs >= oldestMs && timeMs <= newestMs;
export const formats: readonly number[] = [formatVersion];

/** Undefined where it is no answer of a hub: something between it and us may have answered. */
export function parsePushResponse(body: Uint8Array): PushResponse | undefined {
  try {
    const checked = v.safeParse(answerSchema, JSON.parse(Buffer.from(body).toString("utf8")));
    return checked.success ? checked.output : undefined;
  } catch {
    return undefined;
  }
}
