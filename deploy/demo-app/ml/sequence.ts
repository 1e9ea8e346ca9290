// One request in a batching engine: tokens in, tokens out, and the timestamps for latency.

export type FinishReason = "stop" | "length" | "abort";

export interface Sequence {
  readonly id: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
  /** The number of tokens until it ends by itself. */
  readonly outputTokens: number;
  readonly arrivedMs: number;
  /** Prompt tokens found in the prefix cache. */
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

/** About four characters per token, as for English with the usual tokenizers. */
export function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

/** Most completions end by themselves before their limit. */
export function drawOutputTokens(maxTokens: number, random: () => number): number {
  if (random() < 0.4) return maxTokens;
  return Math.max(1, Math.round(maxTokens * (0.3 + 0.7 * random())));
}
