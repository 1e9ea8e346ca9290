// Queries the running programs: Prometheus's API (also the hub's), Alertmanager, the mailbox, the trace receiver.

import type { Trace } from "./traces/registry.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Target {
  readonly job: string;
  readonly url: string;
  readonly health: string;
  readonly lastError: string;
  readonly intervalSeconds: number;
}

export interface Alert {
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Mail {
  readonly subject: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly text: string;
  readonly at: string;
}

async function getJson<Answer>(url: string): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return (await response.json()) as Answer;
}

/** A Prometheus, or a server with its API. */
export class Engine {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async query(expression: string): Promise<readonly Sample[]> {
    const { result } = await this.#data<{
      readonly result: readonly { metric: Record<string, string>; value: [number, string] }[];
    }>(`query?query=${encodeURIComponent(expression)}`);
    return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  /** The single value of an expression; undefined if it has none. */
  async number(expression: string): Promise<number | undefined> {
    const [first] = await this.query(expression);
    return first === undefined || Number.isNaN(first.value) ? undefined : first.value;
  }

  async targets(): Promise<readonly Target[]> {
    const { activeTargets } = await this.#data<{
      readonly activeTargets: readonly {
        readonly scrapePool: string;
        readonly scrapeUrl: string;
        readonly health: string;
        readonly lastError: string;
        readonly scrapeInterval: string;
      }[];
    }>("targets?state=active");
    return activeTargets.map(({ scrapePool, scrapeUrl, health, lastError, scrapeInterval }) => ({
      intervalSeconds:
        Number.parseInt(scrapeInterval, 10) * (scrapeInterval.endsWith("m") ? 60 : 1),
      job: scrapePool,
      url: scrapeUrl,
      health,
      lastError,
    }));
  }

  async names(): Promise<readonly string[]> {
    return this.#data("label/__name__/values");
  }

  async alerts(): Promise<readonly Alert[]> {
    const { alerts } = await this.#data<{
      readonly alerts: readonly { labels: Record<string, string>; state: string }[];
    }>("alerts");
    return alerts.map(({ labels, state }) => ({ name: labels["alertname"] ?? "", state, labels }));
  }

  async ruleCount(): Promise<{ readonly rules: number; readonly failing: readonly string[] }> {
    const { groups } = await this.#data<{
      readonly groups: readonly {
        readonly rules: readonly { name: string; health: string; lastError?: string }[];
      }[];
    }>("rules");
    const rules = groups.flatMap((group) => group.rules);
    const failing = rules.filter(({ health }) => health === "err");
    return {
      rules: rules.length,
      failing: failing.map(({ name, lastError }) => `${name}: ${lastError ?? ""}`),
    };
  }

  async #data<Data>(route: string): Promise<Data> {
    const body = await getJson<{ readonly data: Data }>(`${this.url}/api/v1/${route}`);
    return body.data;
  }
}

/** The alerts that an Alertmanager has now. */
export async function activeAlerts(alertmanagerUrl: string): Promise<readonly Alert[]> {
  const alerts = await getJson<
    readonly { labels: Record<string, string>; status: { readonly state: string } }[]
  >(`${alertmanagerUrl}/api/v2/alerts`);
  return alerts.map(({ labels, status }) => ({
    name: labels["alertname"] ?? "",
    state: status.state,
    labels,
  }));
}

export async function mails(mailboxUrl: string): Promise<readonly Mail[]> {
  return (await getJson<{ readonly messages: readonly Mail[] }>(`${mailboxUrl}/messages`)).messages;
}

export async function traces(
  tracesUrl: string,
  services: readonly string[],
): Promise<{ readonly spans: number; readonly traces: readonly Trace[] }> {
  return getJson(`${tracesUrl}/traces?limit=1&services=${services.join(",")}`);
}
