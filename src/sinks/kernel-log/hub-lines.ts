/**
 * Sends lines to a hub's timeline with POST /api/events, one event each. The response is 201, or 200 if the hub already
 * has the event. A failed batch is sent again from its first line; the events' keys prevent duplicates.
 */
import type { SendResult } from "../../base/send/batch-sender.ts";
import { SamplesPoster, type SamplesPosterOptions } from "../post.ts";
import { bareUrl, httpConfigOf, targetOf } from "../samples-options.ts";
import type { HubLineOptions, TargetContext } from "./define.ts";
import { type KernelLine, kernelLineEvent, type LineTarget } from "./line.ts";

export function openHubLines(
  scheme: "http" | "https",
  options: HubLineOptions,
  { version, nowMs }: TargetContext,
): LineTarget {
  const target = targetOf(scheme, options);
  target.pathname = `${target.pathname.replace(/\/$/, "")}/api/events`;
  return new HubLines(`hub+${scheme}://${target.host}`, {
    url: bareUrl(target),
    timeoutMs: options.timeout,
    http: httpConfigOf(target, options),
    version,
    nowMs,
  });
}

class HubLines implements LineTarget {
  readonly shown: string;
  readonly #poster: SamplesPoster;

  constructor(shown: string, options: SamplesPosterOptions) {
    this.shown = shown;
    this.#poster = new SamplesPoster(options);
  }

  async send(lines: readonly KernelLine[], signal: AbortSignal): Promise<SendResult> {
    for (const line of lines) {
      const time = Number(line.timeNs / 1_000_000n) / 1_000;
      const body = Buffer.from(JSON.stringify({ time, ...kernelLineEvent(line) }));
      const answer = await this.#poster.post(body, { "content-type": "application/json" }, signal);
      const result = "outcome" in answer ? answer : this.#poster.meaning(answer);
      if (result.outcome !== "sent") return result;
    }
    return { outcome: "sent" };
  }

  close(): void {
    this.#poster.close();
  }
}
