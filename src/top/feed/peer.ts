/** The agent or hub behind --url: sends requests to it, and detects which of the two it is. */
import type { ClientAccess } from "../../cli/command/client.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import {
  formatUrl,
  HttpAgent,
  type HttpResponse,
  request,
  type RequestOptions,
} from "../../net/http/request.ts";

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 * 1024 * 1024;

export class Peer {
  readonly base: URL;
  readonly agent: HttpAgent;
  readonly headers: Readonly<Record<string, string>>;

  constructor(url: string, { token, ca }: ClientAccess) {
    const base = URL.canParse(url) ? new URL(url) : undefined;
    if (base === undefined || !/^https?:$/.test(base.protocol))
      throw new GpulseError(
        "USAGE",
        `--url must be a URL such as http://gpu-node:9400 or http://hub:9410, not "${url}".`,
      );
    if (!base.pathname.endsWith("/")) base.pathname += "/";
    this.base = base;
    this.agent = new HttpAgent(ca === undefined ? {} : { ca });
    this.headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` };
  }

  get name(): string {
    return this.base.host;
  }

  at(path: string): string {
    return new URL(path, this.base).href;
  }

  ask(path: string, options: Partial<RequestOptions> = {}): Promise<HttpResponse> {
    return request(this.at(path), {
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      agent: this.agent,
      ...options,
      headers: { ...this.headers, ...options.headers },
    });
  }

  /** Returns the body of a successful response; any other is thrown as an error with a sentence. */
  async get(path: string, options: Partial<RequestOptions> = {}): Promise<HttpResponse> {
    const answer = await this.ask(path, options);
    if (answer.status === 200) return answer;
    throw new Error(
      answer.status === 401 || answer.status === 403
        ? `access denied (${answer.status}): pass a token with --token file:PATH or GPULSE_TOKEN`
        : `${path} returned status ${answer.status}`,
    );
  }

  close(): void {
    this.agent.close();
  }
}

/** Checked once, before the screen opens, so that a wrong address is an error and not an empty screen. */
export async function kindOf(peer: Peer): Promise<"agent" | "hub"> {
  let answer: HttpResponse;
  try {
    answer = await peer.ask("api/v1/status/buildinfo");
  } catch (thrown) {
    throw new GpulseError(
      "AGENT_UNREACHABLE",
      `No gpulse answers at ${formatUrl(peer.base)} (${formatError(thrown)}): start one with gpulse agent or gpulse up, or correct --url.`,
      { cause: thrown },
    );
  }
  if (answer.status === 401 || answer.status === 403)
    throw new GpulseError(
      "ACCESS_REFUSED",
      `${formatUrl(peer.base)} needs a token: pass one with --token file:PATH or GPULSE_TOKEN.`,
    );
  return answer.status === 404 ? "agent" : "hub";
}
