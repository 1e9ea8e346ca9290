/** A hub's JSON response to a push: the acknowledged sequence, the definitions it needs, and its capabilities. */
import * as v from "valibot";
import { formatVersion } from "./request.ts";

export interface MissingDefinitions {
  readonly layouts: readonly string[];
  readonly devices: readonly string[];
  readonly metrics: readonly string[];
}

const names = () => v.optional(v.pipe(v.array(v.string()), v.maxLength(1_000_000)), []);

/** Unknown keys of a newer hub are ignored. */
const answerSchema = v.object({
  /** The newest sequence of this session in the hub's log; 0 for none. */
  acknowledged: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  needs: v.optional(v.object({ layouts: names(), devices: names(), metrics: names() })),
  /** Versions of the format that the hub supports. */
  formats: v.optional(v.array(v.number())),
  /** Record kinds in this request that the hub skipped. */
  unknownKinds: v.optional(v.array(v.number())),
  /**
   * Readings of this request whose time is in the future by the hub's clock, and which were permanently refused: the agent cannot
   * hold them.
   */
  tooNew: v.optional(v.number()),
  /** The hub's clock at the time of the response, and the range of frame times that it accepts. */
  clock: v.optional(v.object({ nowMs: v.number(), oldestMs: v.number(), newestMs: v.number() })),
  version: v.optional(v.string()),
  capabilities: v.optional(v.array(v.string())),
  error: v.optional(v.string()),
});

export type PushResponse = v.InferOutput<typeof answerSchema>;
export type HubClock = NonNullable<PushResponse["clock"]>;

/** The agent holds or re-stamps frames whose time the hub does not accept, instead of having them acknowledged. */
export const clockCapability = "clock/1";
/** Capabilities of this version; a newer one may add some, and each side ignores those it does not know. */
export const capabilities: readonly string[] = ["frames/1", "goodbye", clockCapability];

export const isAccepted = ({ oldestMs, newestMs }: HubClock, timeMs: number): boolean =>
  timeMs >= oldestMs && timeMs <= newestMs;
export const formats: readonly number[] = [formatVersion];

/** Undefined if the body is not a hub's response: a proxy in between may have responded. */
export function parsePushResponse(body: Uint8Array): PushResponse | undefined {
  try {
    const checked = v.safeParse(answerSchema, JSON.parse(Buffer.from(body).toString("utf8")));
    return checked.success ? checked.output : undefined;
  } catch {
    return undefined;
  }
}
