// The load generator's requests: mostly completions, some long, some invalid, reads of earlier results, and batch work.
// Randomness is an argument.

export type Kind = "completion" | "slow" | "bad" | "read" | "batch";

export interface Mix {
  /** Shares of all requests, from 0 to 1; the rest is plain completions. */
  readonly slow: number;
  readonly bad: number;
  readonly read: number;
  readonly batch: number;
  readonly batchSeconds: number;
}

/** The default. A batch job takes a sixteenth of the day. */
export function standardMix(daySeconds: number): Mix {
  return { slow: 0.02, bad: 0.02, read: 0.15, batch: 0.005, batchSeconds: daySeconds / 16 };
}

export interface Asked {
  readonly kind: Kind;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
}

/** As in real use, many requests share a prefix, which a prefix cache detects. */
const OPENINGS = [
  "You are a patient assistant for people who run machines with many accelerators. Answer in short, clear sentences and name the numbers you used.",
  "Summarise the following log of a training run for an engineer who has one minute. Say what went wrong first, and what to do about it next.",
  "Translate the following notice about planned maintenance of a computing centre into plain English, and keep all dates and times as they are.",
];
const WORDS = "memory power clock fan queue batch token kernel cache driver rack node".split(" ");

export function drawKind(mix: Mix, random: () => number): Kind {
  let rest = random();
  for (const kind of ["slow", "bad", "read", "batch"] as const) {
    if (rest < mix[kind]) return kind;
    rest -= mix[kind];
  }
  return "completion";
}

/** @param known ids of completed jobs; without any a read becomes a completion */
export function drawRequest(mix: Mix, known: readonly string[], random: () => number): Asked {
  const kind = drawKind(mix, random);
  const any = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const post = (of: Kind, path: string, body: unknown): Asked => ({
    kind: of,
    method: "POST",
    path,
    body: JSON.stringify(body),
  });
  if (kind === "read") {
    const id = any(known);
    if (id !== undefined) return { kind, method: "GET", path: `/v1/jobs/${id}` };
  }
  if (kind === "batch") return post(kind, "/v1/batch", { seconds: mix.batchSeconds });
  if (kind === "bad") return post(kind, "/v1/completions", { prompt: "", max_tokens: -1 });
  const words = Array.from({ length: 10 + Math.floor(random() * 60) }, () => any(WORDS));
  const prompt = `${any(OPENINGS) ?? ""} ${words.join(" ")}`;
  if (kind === "slow") return post(kind, "/v1/completions", { prompt, max_tokens: 384 });
  const maxTokens = 40 + Math.floor(random() * 160);
  return post("completion", "/v1/completions", { prompt, max_tokens: maxTokens });
}
