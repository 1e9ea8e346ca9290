/** Talks to a running hub from the command line: a deadline, a bound, and its own words where it refuses. */
import { GpulseError, sayError } from "../errors/error.ts";

export const defaultHubUrl = "http://127.0.0.1:9410";

const deadlineMs = 150_000;
const maxAnswerBytes = 512 * 1024 * 1024;

interface Answer {
  readonly status?: string;
  readonly data?: unknown;
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

export class HubClient {
  readonly #base: URL;

  constructor(url: string) {
    const base = URL.canParse(url) ? new URL(url) : undefined;
    if (base === undefined || !/^https?:$/.test(base.protocol)) {
      throw new GpulseError("USAGE", `--url must be a URL such as ${defaultHubUrl}, not "${url}".`);
    }
    this.#base = base;
  }

  /** POSTs a form to a path of the Prometheus API and gives its `data`; what it warns of goes to `note`. */
  async ask(
    path: string,
    form: Readonly<Record<string, string>>,
    note: (text: string) => void = () => {},
  ): Promise<unknown> {
    const url = new URL(path, this.#base);
    let answer: Answer;
    try {
      const response = await fetch(url, {
        method: "POST",
        body: new URLSearchParams(form),
        signal: AbortSignal.timeout(deadlineMs),
      });
      if (response.status === 204) return undefined;
      if (Number(response.headers.get("content-length") ?? 0) > maxAnswerBytes)
        throw new Error("its answer is too large: ask for less");
      answer = (await response.json()) as Answer;
    } catch (thrown) {
      const cause =
        thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
      throw new GpulseError(
        "AGENT_UNREACHABLE",
        `No gpulse hub answers at ${url.origin} (${sayError(cause)}): start one with gpulse up, or name it with --url.`,
        { cause: thrown },
      );
    }
    if (answer.status !== "success")
      throw new GpulseError(
        "QUERY_FAILED",
        answer.error ?? `${url.href} did not answer as a hub does.`,
      );
    for (const text of [...(answer.warnings ?? []), ...(answer.infos ?? [])]) note(text);
    return answer.data;
  }
}
