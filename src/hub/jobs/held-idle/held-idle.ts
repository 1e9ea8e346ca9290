/**
 * The policy for idle GPUs held by jobs: alerts the owner with a link to keep them, and, if configured, runs a command
 * afterwards. A command runs once per idle period, never beyond the budget, and is in the audit log; a dry run only writes the
 * audit log. Notifications, keeps and commands are persisted before they take effect, so a restart repeats nothing.
 */
import path from "node:path";
import * as v from "valibot";
import type { AuditLog } from "../../../access/audit.ts";
import type { PostableAlert } from "../../../alerting/alert.ts";
import { fingerprintOf } from "../../../alerting/route/fingerprint.ts";
import { formatError } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import { StateMap } from "../../../base/state/state-map.ts";
import { budgetLimit } from "../../../config/budget.ts";
import { formatDuration } from "../../../config/duration.ts";
import { findHeldIdle, type HeldIdleJob } from "../../../runs/jobs/held-idle.ts";
import type { OpenJob } from "../../../runs/jobs/open-job.ts";
import type { CommandRun, runCommand } from "../../events/command.ts";
import type { KeepLinks } from "./keep-link.ts";
import { actionBudget, commandFor, type HeldIdleAction, type HeldIdlePolicy } from "./policy.ts";

const stateSchema = v.object({
  /** When the owner was first notified in this idle period. */
  notifiedMs: v.optional(v.number()),
  keepUntilMs: v.optional(v.number()),
  /** When its command ran, and when a dry run would have run it. */
  actedMs: v.optional(v.number()),
  rehearsedMs: v.optional(v.number()),
});
type JobState = Readonly<v.InferOutput<typeof stateSchema>>;

export interface HeldIdleOptions {
  readonly policy: HeldIdlePolicy;
  readonly openJobs: () => Iterable<OpenJob>;
  readonly links: KeepLinks;
  readonly dataDir: string;
  /** Posts alerts; returns how many were rejected. */
  readonly put: (alerts: readonly PostableAlert[]) => number;
  readonly run: typeof runCommand;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly audit: Pick<AuditLog, "note">;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** A job in the response of `/api/jobs/idle`. */
export interface HeldIdleView {
  readonly id: string;
  readonly name: string;
  readonly user?: string | undefined;
  readonly gpus: readonly { readonly host: string; readonly gpu: number; readonly uuid: string }[];
  readonly heldGpus: number;
  readonly sinceMs: number;
  readonly notifiedMs?: number | undefined;
  readonly keepUntilMs?: number | undefined;
  readonly actedMs?: number | undefined;
}

const roundEveryMs = 30_000;
/** A posted alert resolves by itself if it is not posted again within this time. */
const alertLifeMs = 4 * roundEveryMs;
/** Only user names of this form become a label: receivers derive email addresses from it. */
const mailName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export class HeldIdle {
  readonly #options: HeldIdleOptions;
  readonly #states: StateMap<JobState>;
  /** Firing alerts, by job. */
  readonly #firing = new Map<string, PostableAlert>();
  readonly #withheld = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #running: CommandRun | undefined;
  #problem: string | undefined;

  constructor(options: HeldIdleOptions) {
    this.#options = options;
    this.#states = new StateMap(path.join(options.dataDir, "jobs", "held-idle.state"), {
      log: options.log,
      parse: (value) => {
        const parsed = v.safeParse(stateSchema, value);
        return parsed.success ? parsed.output : undefined;
      },
    });
  }

  get links(): KeepLinks {
    return this.#options.links;
  }

  get keepMs(): number {
    return this.#options.policy.keep;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#round ??= this.round().finally(() => (this.#round = undefined));
    }, roundEveryMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#running?.end("the hub ends");
    await this.#round;
    this.#states.close();
  }

  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [`held-idle GPUs: ${this.#problem}`];
  }

  /** Running jobs with idle GPUs as selected by the policy, including kept ones. */
  list(): HeldIdleView[] {
    return this.#find().map(({ record, gpus, heldGpus, sinceMs }) => ({
      id: record.id,
      name: record.name,
      user: record.user,
      gpus: gpus.map(({ host, gpu, uuid }) => ({ host, gpu, uuid })),
      heldGpus,
      sinceMs,
      ...this.#states.get(record.id),
    }));
  }

  findOpen(id: string): OpenJob["record"] | undefined {
    for (const { record } of this.#options.openJobs()) if (record.id === id) return record;
    return undefined;
  }

  /** Suppresses notifications and commands for the job until then. */
  keep(id: string, untilMs: number): void {
    this.#states.put(id, { ...this.#states.get(id), keepUntilMs: untilMs, notifiedMs: undefined });
    this.#resolve(id);
  }

  /** Evaluates all jobs once and acts on the result. Never rejects. */
  async round(): Promise<void> {
    try {
      await this.#act();
      this.#problem = undefined;
    } catch (thrown) {
      const problem = formatError(thrown);
      if (problem !== this.#problem)
        this.#options.log.warn("held-idle policy failed", { error: problem });
      this.#problem = problem;
    }
  }

  async #act(): Promise<void> {
    const { policy, put, nowMs: now } = this.#options;
    const nowMs = now();
    const idle = this.#find();
    const due = idle.filter(
      ({ record }) => (this.#states.get(record.id)?.keepUntilMs ?? 0) <= nowMs,
    );
    const dueIds = new Set(due.map(({ record }) => record.id));
    for (const id of this.#firing.keys()) if (!dueIds.has(id)) this.#resolve(id);
    for (const job of due) {
      const { id } = job.record;
      const state = this.#states.get(id);
      // A new idle period: the owner gets the full waiting time again.
      if ((state?.notifiedMs ?? 0) < job.sinceMs)
        this.#states.put(id, { ...state, notifiedMs: nowMs });
      this.#firing.set(id, this.#alertOf(job, nowMs));
    }
    if (due.length > 0) put([...this.#firing.values()]);
    this.#forget(idle, nowMs);
    if (policy.action !== undefined) await this.#enforce(policy.action, due, nowMs);
  }

  async #enforce(
    action: HeldIdleAction,
    due: readonly HeldIdleJob[],
    nowMs: number,
  ): Promise<void> {
    const isDry = action.mode === "dry-run";
    const doneMs = (state: JobState | undefined): number | undefined =>
      isDry ? (state?.rehearsedMs ?? state?.actedMs) : state?.actedMs;
    const wanted = due
      .filter(({ record }) => {
        const state = this.#states.get(record.id);
        const notifiedMs = state?.notifiedMs ?? nowMs;
        return nowMs - notifiedMs >= action.wait && (doneMs(state) ?? 0) < notifiedMs;
      })
      .sort((one, other) => one.sinceMs - other.sinceMs);
    let recent = 0;
    for (const state of this.#states.values())
      if (nowMs - (doneMs(state) ?? 0) < action.per) recent++;
    const limit = budgetLimit(actionBudget(action), count(this.#options.openJobs()));
    for (const job of wanted) {
      const { record } = job;
      const made = commandFor(action, record);
      if (!made.ok) this.#withhold(record.id, made.why);
      else if (recent >= limit)
        this.#withhold(
          record.id,
          `withheld, ${limit} in ${formatDuration(action.per)} are the budget`,
        );
      else {
        recent++;
        this.#withheld.delete(record.id);
        const state = this.#states.get(record.id);
        this.#states.put(record.id, { ...state, [isDry ? "rehearsedMs" : "actedMs"]: nowMs });
        await this.#runFor(job, made.command, action, isDry);
      }
    }
  }

  async #runFor(
    job: HeldIdleJob,
    command: readonly string[],
    action: HeldIdleAction,
    isDry: boolean,
  ): Promise<void> {
    const { run, env, nowMs } = this.#options;
    const { id } = job.record;
    const words = command.join(" ");
    if (isDry) return this.#note("dry run: run held-idle command", id, words, "done");
    const alert = this.#firing.get(id) ?? this.#alertOf(job, nowMs());
    this.#running = run(
      command,
      {
        labels: Object.fromEntries(alert.labels),
        annotations: alert.annotations,
        status: "firing",
        startsAtMs: alert.startsAtMs ?? nowMs(),
        endsAtMs: undefined,
        generatorUrl: alert.generatorUrl,
        fingerprint: fingerprintOf(alert.labels),
        receiver: "held-idle policy",
      },
      action.timeout,
      env,
    );
    const { ok, how, output } = await this.#running.done;
    this.#running = undefined;
    const said = output === "" ? "" : `: ${output.replace(/\s+/g, " ").slice(-200)}`;
    this.#note("run held-idle command", id, `${words} (${how})${said}`, ok ? "done" : "refused");
  }

  #alertOf({ record, gpus, heldGpus, sinceMs }: HeldIdleJob, nowMs: number): PostableAlert {
    const { links, policy } = this.#options;
    const { id, name, kind, user, account, namespace } = record;
    const labels = new Map([
      ["alertname", "GpulseJobHeldIdle"],
      ["severity", "warning"],
      ["job_id", id],
      ["job_name", name],
      ["job_kind", kind],
    ]);
    if (user !== undefined && mailName.test(user)) labels.set("user", user);
    if (account !== undefined) labels.set("account", account);
    if (namespace !== undefined) labels.set("namespace", namespace);
    const held = gpus.length === heldGpus ? `${heldGpus}` : `${gpus.length} of ${heldGpus}`;
    const some = heldGpus === 1 ? "1 GPU without using it" : `${held} GPUs without using them`;
    const places = gpus.slice(0, 8).map(({ host, gpu }) => `${host} GPU ${gpu}`);
    const { action } = policy;
    const next =
      action === undefined || !(record.kind in action.commands)
        ? ""
        : ` Without an answer, ${action.mode === "on" ? "the site's policy ends this" : "nothing happens yet (dry run)"} ${formatDuration(action.wait)} after the first notification.`;
    return {
      labels,
      annotations: {
        summary: `Job ${name} holds ${some} since ${new Date(sinceMs).toISOString().slice(0, 19)}Z`,
        description: `Idle: ${places.join(", ")}${gpus.length > 8 ? " and more" : ""}. Release what is not needed, or open the link to keep it for up to ${formatDuration(policy.keep)}.${next}`,
        keep_url: links.linkTo(id, nowMs),
      },
      startsAtMs: sinceMs + policy.after,
      endsAtMs: nowMs + alertLifeMs,
      generatorUrl: links.linkTo(id, nowMs),
    };
  }

  #resolve(id: string): void {
    const alert = this.#firing.get(id);
    if (alert === undefined) return;
    this.#firing.delete(id);
    this.#options.put([{ ...alert, endsAtMs: this.#options.nowMs() }]);
  }

  /** Removes jobs that have ended and no longer count in any budget. */
  #forget(idle: readonly HeldIdleJob[], nowMs: number): void {
    const wanted = new Set(idle.map(({ record }) => record.id));
    for (const { record } of this.#options.openJobs()) wanted.add(record.id);
    const perMs = this.#options.policy.action?.per ?? 0;
    for (const [id, { actedMs = 0, rehearsedMs = 0 }] of this.#states.entries())
      if (!wanted.has(id) && nowMs - Math.max(actedMs, rehearsedMs) >= perMs) {
        this.#states.delete(id);
        this.#withheld.delete(id);
      }
  }

  #find(): HeldIdleJob[] {
    const { policy, openJobs, nowMs } = this.#options;
    const { kinds, users, accounts, min_gpus: minGpus } = policy.only;
    const selection = { afterMs: policy.after, kinds, users, accounts, minGpus };
    return findHeldIdle(openJobs(), selection, nowMs());
  }

  #withhold(id: string, why: string): void {
    if (this.#withheld.has(id)) return;
    this.#withheld.add(id);
    this.#note("run held-idle command", id, why, "refused");
  }

  #note(what: string, target: string, why: string, outcome: "done" | "refused"): void {
    this.#options.audit.note({ who: "gpulse hub", by: "nobody", what, target, outcome, why });
    this.#options.log.info(what, { job: target, outcome, reason: why });
  }
}

function count(items: Iterable<unknown>): number {
  let total = 0;
  for (const _ of items) total++;
  return total;
}
