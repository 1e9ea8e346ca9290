/**
 * Sends one request to a hub and returns its outcome. A request contains every definition the hub needs to decode its
 * frames.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  capabilities,
  type HubClock,
  parsePushResponse,
  type PushResponse,
} from "../../formats/frames/push-response.ts";
import { FrameEncoder, type PushFrame } from "../../formats/frames/frame.ts";
import { encodeHello, type Hello } from "../../formats/frames/hello.ts";
import { encodeMetric } from "../../formats/frames/metric.ts";
import { contentType, recordKind, RequestWriter } from "../../formats/frames/request.ts";
import type { HttpClient } from "../../net/http/client.ts";
import { type HttpResponse, request } from "../../net/http/request.ts";
import type { Log } from "../../base/log.ts";
import type { Clock } from "../../base/clock.ts";
import type { DefinitionFolder } from "./definitions.ts";

export type PushResult =
  /** The hub's log holds every frame up to this sequence number. */
  | { readonly outcome: "acknowledged"; readonly sequence: number }
  | { readonly outcome: "retry"; readonly problem: string; readonly afterMs?: number }
  /** The hub does not accept the timestamp of a frame; nothing from that frame on is acknowledged. */
  | { readonly outcome: "outside"; readonly clock: HubClock }
  /** The request is too large or invalid; one with fewer frames may succeed. */
  | { readonly outcome: "refused"; readonly problem: string };

export interface PushClientOptions {
  readonly url: string;
  readonly http: HttpClient;
  readonly definitions: DefinitionFolder;
  /** The fields that are the same in every request. */
  readonly identity: Omit<Hello, "sentMs" | "roundTripMs" | "spool" | "capabilities">;
  readonly spool: () => Hello["spool"];
  readonly clock: Clock;
  readonly log: Log;
}

const compress = promisify(gzip);
/**
 * Gzip level, measured on a minute of 8 simulated GPUs at 1 s: 4 gives 9.7 KB in 0.2 ms, 6 gives 9.6 KB in 0.9 ms, 9
 * gives 9.4 KB in 10 ms.
 */
const level = 4;
const timeoutMs = 30_000;
/** Retry pause for problems that the user has to fix; retrying more often does not help. */
const slowRetryMs = 30_000;
const mostAsked = 3;

export class PushClient {
  readonly #options: PushClientOptions;
  #roundTripMs: number | undefined;
  #clockAheadMs: number | undefined;
  #logged = "";
  #tooNewLogged = false;

  constructor(options: PushClientOptions) {
    this.#options = options;
  }

  /** How far this machine's clock is ahead of the hub's; undefined until the hub has reported its own. */
  get clockAheadMs(): number | undefined {
    return this.#clockAheadMs;
  }

  async push(
    frames: readonly PushFrame[],
    { signal, goodbye = false }: { readonly signal?: AbortSignal; readonly goodbye?: boolean } = {},
  ): Promise<PushResult> {
    let needs: PushResponse["needs"];
    for (let asked = 0; asked < mostAsked; asked++) {
      const answer = await this.#send(await this.#body(frames, needs, goodbye), signal);
      const response = parsePushResponse(answer.body);
      // Half the round trip is the best estimate of the response's age.
      if (response?.clock !== undefined)
        this.#clockAheadMs =
          this.#options.clock.nowMs() - (this.#roundTripMs ?? 0) / 2 - response.clock.nowMs;
      if (answer.status === 428 && response?.needs !== undefined)
        needs = merged(needs, response.needs);
      else return this.#judge(answer, response);
    }
    return { outcome: "retry", problem: "the hub repeatedly requests the same layouts" };
  }

  async #body(
    frames: readonly PushFrame[],
    needs: PushResponse["needs"],
    goodbye: boolean,
  ): Promise<Buffer> {
    const { identity, definitions, spool, clock } = this.#options;
    const records: [kind: number, content: Buffer][] = [];
    for (const name of needs?.metrics ?? [])
      records.push([recordKind.metric, encodeMetric(definitions.metric(name))]);
    for (const kind of ["layout", "devices"] as const) {
      for (const hash of (kind === "layout" ? needs?.layouts : needs?.devices) ?? []) {
        const content = definitions.content(kind, hash);
        if (content !== undefined) records.push([recordKind[kind], content]);
      }
    }
    const encoder = new FrameEncoder();
    for (const frame of frames) {
      const resolutions = definitions.resolutions(frame.layout);
      if (resolutions !== undefined)
        records.push([recordKind.frame, encoder.encode(frame, resolutions)]);
    }
    if (goodbye) records.push([recordKind.goodbye, Buffer.alloc(0)]);
    const writer = new RequestWriter();
    const hello = {
      ...identity,
      // Set as late as possible, because the hub compares it with its own clock.
      sentMs: clock.nowMs(),
      ...(this.#roundTripMs === undefined ? {} : { roundTripMs: this.#roundTripMs }),
      spool: behind(spool(), frames.length),
      capabilities,
    };
    writer.record(recordKind.hello, encodeHello(hello));
    for (const [kind, content] of records) writer.record(kind, content);
    return compress(writer.finish(), { level });
  }

  async #send(body: Buffer, signal: AbortSignal | undefined): Promise<HttpResponse> {
    const { url, http, clock } = this.#options;
    const { headers, agent } = await http.options();
    const startMs = clock.monotonicMs();
    const answer = await request(url, {
      method: "POST",
      headers: { ...headers, "content-type": contentType, "content-encoding": "gzip" },
      body,
      agent,
      timeoutMs,
      maxBytes: 64 * 2 ** 20,
      ...(signal === undefined ? {} : { signal }),
    });
    this.#roundTripMs = clock.monotonicMs() - startMs;
    return answer;
  }

  #judge({ status, headers, body }: HttpResponse, response: PushResponse | undefined): PushResult {
    const words = response?.error ?? `status ${status}: ${body.toString("utf8", 0, 200).trim()}`;
    if ((status === 200 || status === 409) && response?.acknowledged !== undefined) {
      this.#logLacks(response);
      this.#logTooNew(response.tooNew ?? 0);
      return { outcome: "acknowledged", sequence: response.acknowledged };
    }
    if (status === 425 && response?.clock !== undefined)
      return { outcome: "outside", clock: response.clock };
    if (status === 401 || status === 403)
      return this.#loudly(
        status === 401
          ? `the hub requires a token with the push scope (${words}): create one with gpulse token add, pass it with --token file:PATH or GPULSE_TOKEN`
          : `this token may not push (${words}): create one with the push scope by gpulse token add`,
      );
    if (status === 404 || status === 405)
      return this.#loudly(
        "there is no gpulse hub at this address, or it is too old to receive pushes",
      );
    if (status === 415)
      return this.#loudly(
        `the hub reads other versions of the format (${response?.formats?.join(", ") ?? "unknown"}) than this agent: install the same gpulse version on both`,
      );
    if ((status === 400 && response?.error !== undefined) || status === 413)
      return { outcome: "refused", problem: words };
    const afterMs = Number(headers["retry-after"]) * 1_000;
    return {
      outcome: "retry",
      problem: words,
      ...(Number.isFinite(afterMs) ? { afterMs: Math.min(afterMs, 300_000) } : {}),
    };
  }

  /** Logs a problem that the user has to fix as an error, once per reason. */
  #loudly(problem: string): PushResult {
    if (this.#logged !== problem)
      this.#options.log.error("hub refuses frames, they wait in the spool", {
        error: problem,
      });
    this.#logged = problem;
    return { outcome: "retry", problem, afterMs: slowRetryMs };
  }

  /** A hub from before clock/1 has discarded these frames, and the user has to set a clock. */
  #logTooNew(count: number): void {
    if (count > 0 && !this.#tooNewLogged)
      this.#options.log.error(
        "the hub refuses readings from the future: set this machine's clock, or the hub's",
        { readings: count },
      );
    this.#tooNewLogged = count > 0;
  }

  #logLacks(response: PushResponse): void {
    const lacks = capabilities.filter((one) => response.capabilities?.includes(one) === false);
    const missing = [
      ...lacks,
      ...(response.unknownKinds ?? []).map((kind) => `record kind ${kind}`),
    ];
    const text = missing.join(", ");
    if (text !== "" && this.#logged !== text)
      this.#options.log.warn("the hub is older than this agent: only features of both are used", {
        hub: response.version,
        lacks: text,
      });
    this.#logged = text;
  }
}

/** The spool's pending records without those in this request. */
function behind(spool: Hello["spool"], carried: number): Hello["spool"] {
  const records = Math.max(0, spool.records - carried);
  return { ...spool, records, bytes: records === 0 ? 0 : spool.bytes };
}

function merged(
  before: PushResponse["needs"],
  more: NonNullable<PushResponse["needs"]>,
): NonNullable<PushResponse["needs"]> {
  const all = (left: readonly string[] | undefined, right: readonly string[]): string[] => [
    ...new Set([...(left ?? []), ...right]),
  ];
  return {
    layouts: all(before?.layouts, more.layouts),
    devices: all(before?.devices, more.devices),
    metrics: all(before?.metrics, more.metrics),
  };
}
