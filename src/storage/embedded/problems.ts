/** The current problems of an open store, for `/-/ready`. */
import { isNearlyFull } from "./files/reserve.ts";
import { describeUnreadable } from "./quarantine.ts";
import { describeJump } from "./retention.ts";
import type { StoreState } from "./state.ts";

/** Sentences of one kind that are listed; the log has all. */
const listed = 3;

export function problemsOf({
  options,
  clock,
  failures,
  quarantine,
  lost,
  lostSamples,
}: StoreState): readonly string[] {
  const { jumpMs } = clock;
  return [
    ...failures.sentences,
    ...(isNearlyFull(options.dir)
      ? [`less than 1 MB is free on the disk of ${options.dir}: make room`]
      : []),
    ...(jumpMs === undefined ? [] : [describeJump(jumpMs)]),
    ...shorten(quarantine.parts.map(describeUnreadable)),
    ...(lostSamples === 0 ? [] : [`store: ${lostSamples} acknowledged samples are lost`]),
    ...shorten(lost),
  ];
}

function shorten(sentences: readonly string[]): readonly string[] {
  if (sentences.length <= listed) return sentences;
  const more = sentences.length - listed;
  return [...sentences.slice(0, listed), `${more} more like the last: see the log`];
}
