/** Virtual time: where a simulation stands at an instant of the wall clock, and back. */

export interface VirtualTime {
  /** Virtual milliseconds since the start. */
  readonly elapsedMs: (wallMs: number) => number;
  /** The frame's time for a virtual date. */
  readonly frameMs: (virtualMs: number) => number;
}

/** Begins on the whole second, so that two runs polled on whole seconds stand at the same virtual times. */
export function virtualTime(startMs: number, createdMs: number, speed: number): VirtualTime {
  const originMs = Math.floor(createdMs / 1_000) * 1_000;
  return {
    elapsedMs: (wallMs) => Math.max(0, (wallMs - originMs) * speed),
    frameMs: (virtualMs) => originMs + (virtualMs - startMs) / speed,
  };
}
