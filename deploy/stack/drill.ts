// `npm run stack -- drill`: stops services on purpose and pauses the load, and observes alerts fire, reach people and programs,
// and resolve. It restarts what it stopped, also when it is interrupted.

import { waitUntil } from "../../engines/wait.ts";
import { activeAlerts, type Alert, Engine, mails } from "./ask.ts";
import { remoteControl } from "./control.ts";
import { neededState, type StackState, urlAt } from "./place.ts";
import { allTargetsUp, say, withStack } from "./report.ts";
import type { StackOptions } from "./stack.ts";

const DRILLS = ["redis", "postgres", "hub", "idle"] as const;
export type DrillName = (typeof DRILLS)[number];

export interface DrillOptions extends Omit<StackOptions, "onChange" | "say"> {
  readonly start: boolean;
  readonly only: readonly string[];
  readonly json: boolean;
}

export interface Outcome {
  readonly drill: string;
  readonly saw: string;
  readonly afterSeconds: number;
}

/** Rules wait minutes, mails are grouped, models free memory late: long enough for all of it with the shipped settings. */
const LIMIT_MS = 15 * 60_000;

const ALERTS: Readonly<Record<Exclude<DrillName, "idle">, (alert: Alert) => boolean>> = {
  redis: ({ name }) => name === "RedisDown",
  postgres: ({ name }) => name === "PostgresDown",
  hub: ({ name, labels }) => name === "ServiceDown" && labels["job"] === "hub",
};

export async function drill(options: DrillOptions): Promise<number> {
  const wrong = options.only.filter((name) => !(DRILLS as readonly string[]).includes(name));
  if (wrong.length > 0)
    throw new Error(`--only ${wrong.join(",")}: there are ${DRILLS.join(", ")}`);
  if (!options.start) return drillOn(neededState(options.dataDir), options);
  return withStack(options, async ({ state }) => {
    await allTargetsUp(state);
    return drillOn(state, options);
  });
}

async function drillOn(state: StackState, options: DrillOptions): Promise<number> {
  const control = remoteControl(state);
  if (options.quick)
    say("quick: rules, scrapes and routing wait at most 5 s here, not the minutes they ship with");
  await control.setQuick(options.quick || state.quick);
  const outcomes: Outcome[] = [];
  const note = (name: string, saw: string, startMs: number): void => {
    const outcome = { drill: name, saw, afterSeconds: Math.round((Date.now() - startMs) / 1000) };
    outcomes.push(outcome);
    process.stdout.write(
      options.json
        ? `${JSON.stringify(outcome)}\n`
        : `${name.padEnd(9)} ${saw.padEnd(64)} after ${outcome.afterSeconds} s\n`,
    );
  };
  const wanted = DRILLS.filter((name) => options.only.length === 0 || options.only.includes(name));
  try {
    for (const name of wanted) {
      if (name === "idle") await idle(state, note);
      else await outage(state, name, note);
    }
  } finally {
    if (!state.quick) await control.setQuick(false);
  }
  return 0;
}

type Note = (drill: string, saw: string, startMs: number) => void;

async function outage(
  state: StackState,
  name: Exclude<DrillName, "idle">,
  note: Note,
): Promise<void> {
  const control = remoteControl(state);
  const isIt = ALERTS[name];
  const prometheus = new Engine(urlAt(state.ports.prometheus));
  const routed = (): Promise<readonly Alert[]> => activeAlerts(urlAt(state.ports.alertmanager));
  const firing = async (): Promise<boolean> =>
    (await prometheus.alerts()).some((alert) => isIt(alert) && alert.state === "firing");
  const newMail = await mailWatch(state, isIt);
  const stoppedMs = Date.now();
  await control.hold(name);
  try {
    await until(`the alert for ${name} to fire in Prometheus`, firing);
    note(name, "stopped: the alert fires in Prometheus", stoppedMs);
    await until(`the alert for ${name} to reach Alertmanager`, async () =>
      (await routed()).some(isIt),
    );
    note(name, "Alertmanager has it", stoppedMs);
    await until(`a mail about ${name}`, newMail);
    note(name, "a mail notifies people", stoppedMs);
  } finally {
    await control.release(name);
  }
  const startedMs = Date.now();
  await until(`the alert for ${name} to end in Prometheus`, async () => !(await firing()));
  note(name, "started again: the alert has ended in Prometheus", startedMs);
  await until(
    `the alert for ${name} to leave Alertmanager`,
    async () => !(await routed()).some(isIt),
  );
  note(name, "and in Alertmanager", startedMs);
}

async function idle(state: StackState, note: Note): Promise<void> {
  const prometheus = new Engine(urlAt(state.ports.prometheus));
  const [load, gateway] = [urlAt(state.ports.load), urlAt(state.ports.gateway)];
  const idleMail = await mailWatch(state, ({ name }) => name === "GpuIdle");
  const webhooks = (): Promise<number> => counter(gateway, "gateway_idle_alerts_total");
  const batchJobs = (): Promise<number> =>
    counter(urlAt(state.ports.worker), 'worker_jobs_total{queue="batch"');
  const batchUnderWay = async (): Promise<number> =>
    (await counter(gateway, 'gateway_queue_depth{queue="batch"')) +
    (await counter(urlAt(state.ports.ml), "ml_batch_jobs{"));
  const idleGpus = async (): Promise<readonly string[]> =>
    (await prometheus.alerts())
      .filter(({ name, state: is }) => name === "GpuIdle" && is === "firing")
      .map(({ labels }) => labels["uuid"] ?? "");
  // After an outage all GPUs may still count as idle, and could not become idle again.
  await until("a GPU to be at work", async () => {
    const [gpus, idling] = [await prometheus.number("count(gpu_up)"), await idleGpus()];
    return gpus !== undefined && idling.length < gpus;
  });
  const [webhooksBefore, idleBefore] = [await webhooks(), await idleGpus()];
  const startMs = Date.now();
  await post(`${load}/pause`);
  // With the load paused, additional batch work comes only from idle GPUs' requests.
  const jobsBefore = (await batchJobs()) + (await batchUnderWay());
  try {
    await until("GpuIdle to fire", async () =>
      (await idleGpus()).some((uuid) => !idleBefore.includes(uuid)),
    );
    note("idle", "load paused: GpuIdle fires in Prometheus", startMs);
    await until(
      "the webhook to reach the gateway",
      async () => (await webhooks()) > webhooksBefore,
    );
    note("idle", "the webhook has reached the gateway (/idle)", startMs);
    await until("a mail about GpuIdle", idleMail);
    note("idle", "the mail about GpuIdle is in the mailbox", startMs);
    await until("batch work to be done", async () => (await batchJobs()) > jobsBefore);
    note("idle", "batch work is done on GPUs that asked for it", startMs);
  } finally {
    await post(`${load}/resume`);
  }
  const resumedMs = Date.now();
  await until("a GPU to work again", async () => {
    const busy = await prometheus.number("max(gpu_utilization_ratio)");
    return busy !== undefined && busy > 0.05;
  });
  note("idle", "load resumed: GPUs work again", resumedMs);
}

/** Returns a check whether a mail about such an alert has arrived since: the mail's text has the alert's labels, one per line. */
async function mailWatch(
  state: StackState,
  isIt: (alert: Alert) => boolean,
): Promise<() => Promise<boolean>> {
  const box = urlAt(state.ports.mailbox);
  const before = new Set((await mails(box)).map(({ at, subject }) => at + subject));
  return async () =>
    (await mails(box)).some(
      (mail) => !before.has(mail.at + mail.subject) && isIt(alertIn(mail.text)),
    );
}

function alertIn(text: string): Alert {
  const labels = Object.fromEntries(
    [...text.matchAll(/\b(alertname|job)\s*=\s*(\w+)/g)].map(([, key = "", value = ""]) => [
      key,
      value,
    ]),
  );
  return { name: labels["alertname"] ?? "", state: "", labels };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  await waitUntil({ what, timeoutMs: LIMIT_MS }, async () => ((await holds()) ? true : undefined));
}

async function post(url: string): Promise<void> {
  const response = await fetch(url, { method: "POST" });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
}

/** The sum of a counter on a program's own metrics page, newer than the last scrape. */
async function counter(url: string, begins: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text();
  return page
    .split("\n")
    .filter((line) => line.startsWith(begins))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
