// One request as a batching engine sees it: tokens in, tokens out, and the moments that latency is distinguished from.

export type FinishReason = "stop" | "length" | "abort";

export interface Sequence {
  readonly id: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
  /** How many tokens it will produce before it ends by itself. */
  readonly outputTokens: number;
  readonly arrivedMs: number;
  /** Prompt tokens whose work was found in the prefix cache. */
  cachedTokens: number;
  scheduledMs: number | undefined;
  firstTokenMs: number | undefined;
  lastTokenMs: number | undefined;
  finishedMs: number | undefined;
  generated: number;
}

export interface NewSequence {
  readonly id: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly outputTokens: number;
}

export function newSequence(of: NewSequence, nowMs: number): Sequence {
  return {
    ...of,
    arrivedMs: nowMs,
    cachedTokens: 0,
    scheduledMs: undefined,
    firstTokenMs: undefined,
    lastTokenMs: undefined,
    finishedMs: undefined,
    generated: 0,
  };
}

/** About four characters to a token, as with English and the usual tokenizers. */
export function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

/** Most answers end by themselves somewhere before their limit. */
export function drawOutputTokens(maxTokens: number, random: () => number): number {
  if (random() < 0.4) return maxTokens;
  return Math.max(1, Math.round(maxTokens * (0.3 + 0.7 * random())));
}
