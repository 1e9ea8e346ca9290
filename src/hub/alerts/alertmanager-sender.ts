/**
 * The queue of one Alertmanager: the newest state of each alert, in order of arrival, bounded. Retried until accepted;
 * rejected and dropped alerts are counted and logged.
 */
import { backoffMs, pause } from "../../base/retry.ts";
import type { PostableAlert } from "../../alerting/alert.ts";
import { fingerprintOf } from "../../alerting/route/fingerprint.ts";
import { formatError } from "../../base/error.ts";
import { HttpClient } from "../../net/http/client.ts";
import { redactCredentials } from "../../net/http/secret.ts";
import { request } from "../../net/http/request.ts";
import type { Log } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import type { Clock } from "../../base/clock.ts";
import { relabel } from "../../formats/relabel/relabel.ts";
import type { AlertmanagerTarget } from "./alertmanager-targets.ts";

export interface AlertmanagerSenderOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly version: string;
  /** Queue capacity, in alerts. */
  readonly capacity: number;
}

/** The batch size of Prometheus. */
const batchSize = 64;
const backoff = { firstMs: 1_000, longestMs: 30_000 };

export class AlertmanagerSender {
  readonly target: AlertmanagerTarget;
  readonly #options: AlertmanagerSenderOptions;
  readonly #client: HttpClient;
  readonly #waiting = new Map<string, PostableAlert>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #failures = 0;
  #problem: string | undefined;
  sent = 0;
  dropped = 0;

  constructor(target: AlertmanagerTarget, options: AlertmanagerSenderOptions) {
    this.target = target;
    this.#options = options;
    this.#client = new HttpClient(target.http, 1);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Why the last attempt failed; undefined if it succeeded. */
  get problem(): string | undefined {
    return this.#problem;
  }

  put(alerts: readonly PostableAlert[]): void {
    if (this.#stop.signal.aborted) return;
    for (const alert of alerts) {
      const posted = relabelled(alert, this.target);
      // A queued alert keeps its position in the queue.
      if (posted !== undefined) this.#waiting.set(fingerprintOf(posted.labels), posted);
    }
    this.#makeRoom();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#client.close();
  }

  #makeRoom(): void {
    const over = this.#waiting.size - this.#options.capacity;
    if (over <= 0) return;
    for (const key of [...this.#waiting.keys()].slice(0, over)) this.#waiting.delete(key);
    this.dropped += over;
    this.#options.log.error("Alertmanager queue full: alerts dropped", {
      alertmanager: this.target.url,
      alerts: over,
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#stop.signal.aborted) {
      const batch = [...this.#waiting].slice(0, batchSize);
      const outcome = await this.#post(batch.map(([, alert]) => alert));
      if (outcome === "again") {
        const { clock, random } = this.#options;
        await pause(backoffMs(this.#failures - 1, random, backoff), this.#stop.signal, clock);
        continue;
      }
      this[outcome] += batch.length;
      for (const [key, alert] of batch)
        if (this.#waiting.get(key) === alert) this.#waiting.delete(key);
    }
  }

  async #post(alerts: readonly PostableAlert[]): Promise<"sent" | "dropped" | "again"> {
    const { target } = this;
    try {
      const options = await this.#client.options();
      const { status, body } = await request(target.url, {
        ...options,
        method: "POST",
        headers: {
          ...options.headers,
          "content-type": "application/json",
          "user-agent": `gpulse/${this.#options.version}`,
        },
        body: JSON.stringify(alerts.map(postableAlertJson)),
        timeoutMs: target.timeoutMs,
        maxBytes: 64 * 1024,
        signal: this.#stop.signal,
      });
      if (status >= 200 && status < 300) {
        this.#setProblem(undefined);
        return "sent";
      }
      // Redact before truncating: half a secret would not be recognised.
      const message = redactCredentials(body.toString("utf8"), options.headers)
        .trim()
        .slice(0, 200);
      this.#setProblem(`status ${status}${message === "" ? "" : `: ${message}`}`);
      return status >= 500 || status === 408 || status === 429 ? "again" : "dropped";
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.#setProblem(formatError(thrown));
      return "again";
    }
  }

  /** Logs the first failure and the recovery. */
  #setProblem(problem: string | undefined): void {
    const { log } = this.#options;
    const fields = { alertmanager: this.target.url, waiting: this.#waiting.size };
    if (problem !== undefined && this.#problem === undefined)
      log.warn("sending alerts to Alertmanager failed", { ...fields, error: problem });
    if (problem === undefined && this.#problem !== undefined)
      log.info("Alertmanager accepts alerts again", fields);
    this.#problem = problem;
    this.#failures = problem === undefined ? 0 : this.#failures + 1;
  }
}

function relabelled(alert: PostableAlert, target: AlertmanagerTarget): PostableAlert | undefined {
  const { alertRelabelRules: rules } = target;
  if (rules.length === 0) return alert;
  const labels = relabel(labelSet(Object.fromEntries(alert.labels)), rules);
  return labels === undefined || labels.length === 0
    ? undefined
    : { ...alert, labels: new Map(labels) };
}

function postableAlertJson({
  labels,
  annotations,
  startsAtMs,
  endsAtMs,
  generatorUrl,
}: PostableAlert) {
  const iso = (ms: number | undefined): string | undefined =>
    ms === undefined ? undefined : new Date(ms).toISOString();
  return {
    labels: Object.fromEntries(labels),
    annotations,
    startsAt: iso(startsAtMs),
    endsAt: iso(endsAtMs),
    generatorURL: generatorUrl === "" ? undefined : generatorUrl,
  };
}
