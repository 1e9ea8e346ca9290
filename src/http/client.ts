/**
 * Requests under one http client configuration: its headers and its TLS options, with files read again when they change.
 * Never shows a secret.
 */
import type { HttpClientConfig } from "./auth-config.ts";
import { HttpAgent } from "./request.ts";

export class HttpClient {
  readonly config: HttpClientConfig;
  #agent: HttpAgent | undefined;

  constructor(config: HttpClientConfig) {
    this.config = config;
  }

  /** What to give `request` beside the deadline: headers, agent and how many redirects to follow. */
  async options(): Promise<{
    headers: Record<string, string>;
    agent: HttpAgent;
    maxRedirects?: number;
  }> {
    this.#agent ??= new HttpAgent();
    return {
      headers: {},
      agent: this.#agent,
      ...(this.config.followRedirects ? { maxRedirects: 10 } : {}),
    };
  }

  close(): void {
    this.#agent?.close();
  }
}
