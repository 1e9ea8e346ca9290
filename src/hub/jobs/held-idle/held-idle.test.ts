import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startMailServer } from "../../../../test/fixtures/alerting/channels-email.ts";
import { AuditLog } from "../../../access/audit.ts";
import type { PostableAlert } from "../../../alerting/alert.ts";
import { systemClock } from "../../../base/clock.ts";
import { silentLog } from "../../../base/log.ts";
import { Ledger } from "../../../runs/jobs/ledger.ts";
import { openRouting } from "../../alerts/routing.ts";
import { addAudit } from "../../audit/routes.ts";
import { runCommand } from "../../events/command.ts";
import { HeldIdle, type HeldIdleOptions } from "./held-idle.ts";
import { readKey } from "../key-file.ts";
import { KeepLinks } from "./keep-link.ts";
import { commandFor, loadPolicy } from "./policy.ts";
import { addHeldIdle } from "./routes.ts";

const minuteMs = 60_000;
const startMs = Date.UTC(2026, 10, 18, 12);
let dir = "";
let nowMs = startMs;
let posted: PostableAlert[] = [];
const ends: (() => unknown)[] = [];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-held-idle-"));
  nowMs = startMs;
  posted = [];
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(dir, { recursive: true, force: true });
});

/** Jobs that hold one GPU each; those in `busy` use it. */
class Machine {
  readonly ledger = new Ledger();
  readonly #jobs: readonly string[];

  constructor(jobs: readonly string[]) {
    this.#jobs = jobs;
  }

  advance(minutes: number, busy: readonly string[] = []): void {
    for (let at = 0; at < minutes * 2; at++) {
      nowMs += 30_000;
      const ticks = this.#jobs.map((workload, gpu) => ({
        uuid: `GPU-${gpu}`,
        host: "node7",
        gpu,
        model: "H200",
        simulated: false,
        timeMs: nowMs,
        joules: (nowMs - startMs) / 10,
        meter: "hardware" as const,
        activityRatio: busy.includes(workload) ? 0.9 : 0,
        owners: [{ labels: { workload, user: "ada" } }],
      }));
      this.ledger.apply(["ticks", ticks]);
    }
  }
}

async function openPolicy(text: string, machine: Machine, more: Partial<HeldIdleOptions> = {}) {
  writeFileSync(path.join(dir, "policy.yaml"), text);
  const audit = new AuditLog({ dataDir: dir, log: silentLog, nowMs: () => nowMs });
  const idle = new HeldIdle({
    policy: await loadPolicy(path.join(dir, "policy.yaml"), {}),
    openJobs: () => machine.ledger.openJobs(),
    links: new KeepLinks(
      readKey(path.join(dir, "jobs", "keep.key"), () => Buffer.alloc(32, 7)),
      "https://hub.example/gpulse",
    ),
    dataDir: dir,
    put: (alerts) => {
      posted.push(...alerts);
      return 0;
    },
    run: runCommand,
    env: process.env,
    audit,
    log: silentLog,
    nowMs: () => nowMs,
    ...more,
  });
  const app = fastify();
  addAudit(app, { audit, nowMs: () => nowMs });
  await addHeldIdle(app, idle, () => nowMs);
  ends.push(
    () => idle.close(),
    () => app.close(),
  );
  const notes = () =>
    audit.tail(100).map(({ what, outcome, target, why }) => [what, outcome, target, why]);
  return { idle, app, notes };
}

const last = (): PostableAlert | undefined => posted.at(-1);
const linkOf = (alert: PostableAlert | undefined): URL =>
  new URL(alert?.annotations["keep_url"] ?? "");

test("an owner is notified after the set time, and once more when the GPU was used in between", async () => {
  const machine = new Machine(["1", "2"]);
  const { idle } = await openPolicy("after: 30m\n", machine);
  machine.advance(29, ["2"]);
  await idle.round();
  expect(posted).toEqual([]);
  machine.advance(2, ["2"]);
  await idle.round();
  expect(last()?.labels.get("user")).toBe("ada");
  expect(last()?.labels.get("job_name")).toBe("1");
  expect(last()?.annotations["summary"]).toContain("Job 1 holds 1 GPU without using it");
  machine.advance(1, ["1", "2"]);
  await idle.round();
  expect(last()?.endsAtMs).toBe(nowMs);
  expect(idle.list()).toEqual([]);
});

test("the link asks first, keeps the GPUs until the chosen time, and is audited", async () => {
  const machine = new Machine(["1"]);
  const { idle, app, notes } = await openPolicy("after: 30m\nkeep: 8h\n", machine);
  machine.advance(31);
  await idle.round();
  const link = linkOf(last());
  expect(link.href).toContain("https://hub.example/gpulse/keep?job=slurm%3A1%40");
  const page = await app.inject({ url: `/keep${link.search}` });
  expect([page.statusCode, page.headers["cache-control"]]).toEqual([200, "no-store"]);
  expect(page.body).toContain('<option value="8" selected>8h</option>');
  expect(idle.list()[0]?.keepUntilMs).toBeUndefined();
  const post = (fields: Record<string, string>) =>
    app.inject({
      method: "POST",
      url: "/keep",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      payload: new URLSearchParams({
        ...Object.fromEntries(link.searchParams),
        ...fields,
      }).toString(),
    });
  expect((await post({ hours: "9" })).statusCode).toBe(403);
  expect((await post({ hours: "4", job: "slurm:2@1" })).statusCode).toBe(403);
  expect((await post({ hours: "4", signature: "x" })).statusCode).toBe(403);
  expect((await post({ hours: "4" })).body).toContain("are kept until");
  expect(last()?.endsAtMs).toBe(nowMs);
  expect(idle.list()[0]?.keepUntilMs).toBe(nowMs + 4 * 60 * minuteMs);
  const count = posted.length;
  machine.advance(30);
  await idle.round();
  expect(posted.length).toBe(count);
  machine.advance(4 * 60);
  await idle.round();
  expect(posted.length).toBe(count + 1);
  expect(notes().map(([what, outcome]) => [what, outcome])).toEqual([
    ["POST /keep", "done"],
    ["POST /keep", "refused"],
    ["POST /keep", "refused"],
    ["POST /keep", "refused"],
  ]);
  nowMs += 8 * 24 * 60 * minuteMs;
  expect((await app.inject({ url: `/keep${link.search}` })).statusCode).toBe(403);
  expect(statSync(path.join(dir, "jobs", "keep.key")).mode & 0o077).toBe(0);
});

const action = (mode: string, command: string): string => `after: 30m
action:
  mode: ${mode}
  wait: 10m
  budget: 1,50%
  per: 1h
  commands:
    slurm: ${command}
`;

test("a dry run only writes to the audit log, within the budget", async () => {
  const machine = new Machine(["1", "2", "3"]);
  const out = path.join(dir, "out");
  const { idle, notes } = await openPolicy(action("dry-run", `[touch, ${out}]`), machine);
  machine.advance(31);
  await idle.round();
  machine.advance(11);
  await idle.round();
  await idle.round();
  expect(() => readFileSync(out)).toThrow("ENOENT");
  expect(notes().map(([what, outcome]) => [what, outcome])).toEqual([
    ["run held-idle command", "refused"],
    ["run held-idle command", "refused"],
    ["dry run: run held-idle command", "done"],
  ]);
});

test("the command runs once per job and never over the budget, also after a restart", async () => {
  const machine = new Machine(["1", "2", "3"]);
  const out = path.join(dir, "out");
  const command = `[sh, -c, 'echo "$1 $GPULSE_ALERT_LABEL_USER" >> ${out}', sh, "{id}"]`;
  const { idle, notes } = await openPolicy(action("on", command), machine);
  machine.advance(31);
  await idle.round();
  machine.advance(11);
  await idle.round();
  expect(readFileSync(out, "utf8")).toBe("1 ada\n");
  await idle.close();
  const { idle: again } = await openPolicy(action("on", command), machine);
  machine.advance(20);
  await again.round();
  expect(readFileSync(out, "utf8")).toBe("1 ada\n");
  machine.advance(60);
  await again.round();
  expect(readFileSync(out, "utf8")).toBe("1 ada\n2 ada\n");
  expect(notes().filter(([, outcome]) => outcome === "done")).toEqual([
    [
      "run held-idle command",
      "done",
      expect.stringContaining("slurm:2@"),
      expect.stringContaining("(exit 0)"),
    ],
    [
      "run held-idle command",
      "done",
      expect.stringContaining("slurm:1@"),
      expect.stringContaining("(exit 0)"),
    ],
  ]);
});

test("a kept job and a used job get no command; a failed command is audited as refused", async () => {
  const machine = new Machine(["1"]);
  const { idle, notes } = await openPolicy(
    action("on", "[sh, -c, 'echo no such job >&2; exit 3']").replace("1,50%", "9,100%"),
    machine,
  );
  machine.advance(31);
  await idle.round();
  idle.keep(idle.list()[0]?.id ?? "", nowMs + 60 * minuteMs);
  machine.advance(30);
  await idle.round();
  machine.advance(5, ["1"]);
  await idle.round();
  expect(notes()).toEqual([]);
  machine.advance(60);
  await idle.round();
  machine.advance(11);
  await idle.round();
  expect(notes()).toEqual([
    [
      "run held-idle command",
      "refused",
      expect.stringContaining("slurm:1@"),
      expect.stringMatching(/\(exit 3\): no such job$/),
    ],
  ]);
});

const record = {
  id: "slurm:1@1",
  key: "slurm:1",
  kind: "slurm",
  name: "train",
  startMs: 0,
  endMs: 0,
  end: "open",
  stretches: [],
} as const;
test.each([
  [{ name: "train-1" }, "scancel train-1"],
  [{ name: "--all" }, "the job's name is not a plain name: it is not passed on"],
  [{ name: "a b" }, "the job's name is not a plain name: it is not passed on"],
  [{ kind: "pod" }, "the policy has no command for jobs of kind pod"],
] as const)("what users choose never becomes an option: %j gives %j", async (more, made) => {
  writeFileSync(path.join(dir, "policy.yaml"), action("on", '[scancel, "{name}"]'));
  const policy = await loadPolicy(path.join(dir, "policy.yaml"), {});
  if (policy.action === undefined) throw new Error("BUG: there is an action");
  const command = commandFor(policy.action, { ...record, stretches: [], ...more });
  expect(command.ok ? command.command.join(" ") : command.why).toBe(made);
});

test.each([
  ["after: 5s\n", "must be a duration such as 10m"],
  ["aftr: 5m\n", "aftr"],
  [action("maybe", "[a]"), "dry-run or on"],
  [action("on", '["{id}"]'), "without placeholders"],
  [action("on", '[a, "{pid}"]'), "only the placeholders"],
  [action("on", "[a]").replace("1,50%", "lots"), "a number of jobs and a percentage"],
])("a policy with a mistake is refused with a sentence: %j", async (text, sentence) => {
  writeFileSync(path.join(dir, "policy.yaml"), text);
  await expect(loadPolicy(path.join(dir, "policy.yaml"), {})).rejects.toThrow(sentence);
});

test("the mail goes to the owner by a template of the user's name, with the link in it", async () => {
  const mail = await startMailServer({ disabledCommands: ["AUTH", "STARTTLS"] });
  ends.push(() => mail.close());
  const file = path.join(dir, "alertmanager.yml");
  writeFileSync(
    file,
    `route:
  receiver: owners
  group_by: [job_id]
  group_wait: 0s
receivers:
  - name: owners
    email_configs:
      - to: '{{ .CommonLabels.user }}@lab.example'
        from: gpulse@lab.example
        smarthost: 127.0.0.1:${mail.port}
        require_tls: false
        text: '{{ .CommonAnnotations.summary }} {{ .CommonAnnotations.keep_url }}'
`,
  );
  nowMs = Date.now() - 40 * minuteMs;
  const sink = await openRouting({
    file,
    dataDir: dir,
    env: {},
    externalUrl: "https://hub.example",
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  });
  ends.push(() => sink.close());
  const machine = new Machine(["1"]);
  const { idle } = await openPolicy("after: 30m\n", machine, { put: (alerts) => sink.put(alerts) });
  machine.advance(40);
  await idle.round();
  await vi.waitFor(() => expect(mail.mails.length).toBe(1), 10_000);
  expect(mail.mails[0]?.to).toEqual(["ada@lab.example"]);
  expect(mail.mails[0]?.text).toContain("/gpulse/keep?job=3D");
});
