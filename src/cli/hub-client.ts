/** Talks to a running hub from the command line: a deadline, a bound, and its own words where it refuses. */
import type { ClientAccess } from "../command/client.ts";
import { GpulseError, sayError } from "../errors/error.ts";
import { HttpAgent, request } from "../http/request.ts";

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
  readonly #access: ClientAccess;

  constructor(url: string, access: ClientAccess = {}) {
    this.#access = access;
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
    const { token, ca } = this.#access;
    const agent = new HttpAgent(ca === undefined ? {} : { ca });
    try {
      const { status, body } = await request(url.href, {
        method: "POST",
        body: new URLSearchParams(form).toString(),
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
        },
        agent,
        timeoutMs: deadlineMs,
        maxBytes: maxAnswerBytes,
      });
      if (status === 204) return undefined;
      if (status === 401 || status === 403) throw refused(status, body);
      answer = JSON.parse(body.toString("utf8")) as Answer;
    } catch (thrown) {
      if (thrown instanceof GpulseError) throw thrown;
      const cause =
        thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
      throw new GpulseError(
        "AGENT_UNREACHABLE",
        `No gpulse hub answers at ${url.origin} (${sayError(cause)}): start one with gpulse up, or name it with --url.`,
        { cause: thrown },
      );
    } finally {
      agent.close();
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

/** The hub's own words where it has some, and how this side would show a token. */
function refused(status: number, body: Buffer): GpulseError {
  const said = /"error":"((?:[^"\\]|\\.)*)"/.exec(body.toString("utf8"))?.[1] ?? `status ${status}`;
  return new GpulseError(
    "ACCESS_REFUSED",
    `The hub refused: ${said} Give one with --token file:PATH or GPULSE_TOKEN.`,
  );
}
