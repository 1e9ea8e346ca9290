import { expect, test } from "vitest";
import type { AuditNote } from "../../access/audit.ts";
import { silentLog } from "../../base/log.ts";
import { NodeConflictError } from "./node-api.ts";
import { NodeTaints, type NodeTaintsOptions, type NodeWriter } from "./node-taints.ts";
import { budgetLimit } from "../../config/budget.ts";
import { type NodeVerdict, planTaints } from "./plan.ts";

type Hosts = ReturnType<NodeTaintsOptions["report"]>["hosts"];

const fault = { state: "lost", action: "drain", text: "GPU 3 has fallen off the bus" } as const;
const fine = { state: "healthy", action: "none", text: "" } as const;

function host(name: string, verdict: Omit<NodeVerdict, "node">): Hosts[number] {
  const { state, action, text } = verdict;
  const reasons =
    state === "healthy" || state === "unknown"
      ? []
      : [
          {
            check: "presence" as const,
            reason: "gpu_lost",
            title: "GPU lost",
            since: "",
            state,
            action,
            text,
          },
        ];
  return { host: name, worst: state, state, action, reasons, unchecked: [], gpus: [] };
}

/** An API server in memory, with failures and concurrent changes controlled by the test. */
class FakeNodes implements NodeWriter {
  readonly tainted = new Set<string>();
  readonly conditions = new Map<string, boolean>();
  names: readonly string[] = [];
  fails: (node?: string) => "before" | "after" | "conflict" | undefined = () => undefined;
  failsCondition = false;
  lists = 0;
  onTaint: () => void = () => undefined;

  async list() {
    this.lists++;
    if (this.fails() === "before") throw new Error("503");
    return this.names.map((node) => ({
      node,
      isTainted: this.tainted.has(node),
      isReportedHealthy: this.conditions.get(node),
    }));
  }

  async setTaint(node: string, isTainted: boolean) {
    const failure = this.fails(node);
    if (failure === "conflict") throw new NodeConflictError("409");
    if (failure === "before") throw new Error("timeout");
    if (isTainted) this.tainted.add(node);
    else this.tainted.delete(node);
    this.onTaint();
    // The change is applied, but the response is lost.
    if (failure === "after") throw new Error("connection reset");
  }

  async setCondition(node: string, isHealthy: boolean) {
    if (this.failsCondition) throw new Error("503");
    this.conditions.set(node, isHealthy);
  }
}

function lab(more: Partial<NodeTaintsOptions> = {}) {
  const nodes = new FakeNodes();
  const notes: AuditNote[] = [];
  const state = { hosts: [] as Hosts, nowMs: 0 };
  const taints = new NodeTaints({
    mode: "on",
    budget: { max: 2, maxRatio: 0.5 },
    returnAfterMs: 60_000,
    nodes,
    report: () => ({ hosts: state.hosts }),
    audit: { note: (note) => void notes.push(note) },
    log: silentLog,
    nowMs: () => state.nowMs,
    ...more,
  });
  return { nodes, notes, state, taints };
}

test("a node with a lost GPU is tainted, and returns when it has been healthy long enough", async () => {
  const { nodes, notes, state, taints } = lab();
  nodes.names = ["a", "b"];
  state.hosts = [host("a", fault), host("b", fine)];
  await taints.round();
  expect([...nodes.tainted]).toEqual(["a"]);
  expect(nodes.conditions).toEqual(new Map([["a", false]]));
  expect(notes).toMatchObject([
    { what: "taint node", target: "a", outcome: "done", why: fault.text },
  ]);

  state.hosts = [host("a", fine), host("b", fine)];
  await taints.round();
  state.nowMs = 30_000;
  // A silent agent is no proof of health: the healthy period starts again.
  state.hosts = [host("b", fine)];
  await taints.round();
  state.hosts = [host("a", fine), host("b", fine)];
  await taints.round();
  state.nowMs = 89_000;
  await taints.round();
  expect([...nodes.tainted]).toEqual(["a"]);
  state.nowMs = 90_000;
  await taints.round();
  expect([...nodes.tainted]).toEqual([]);
  expect(nodes.conditions.get("a")).toBe(true);
  expect(notes.at(-1)).toMatchObject({ what: "return node to service", target: "a" });
});

test("a node that refuses its taint holds up no other, and a lost condition is written later", async () => {
  const { nodes, state, taints } = lab();
  nodes.names = ["a", "b", "c", "d"];
  nodes.fails = (node) => (node === "a" ? "before" : undefined);
  nodes.failsCondition = true;
  state.hosts = nodes.names.map((name) => host(name, name < "c" ? fault : fine));
  await taints.round();
  expect([...nodes.tainted]).toEqual(["b"]);
  expect(taints.problems()).toEqual(["node taints: timeout"]);
  nodes.failsCondition = false;
  await taints.round();
  expect(nodes.conditions).toEqual(new Map([["b", false]]));
  nodes.fails = () => undefined;
  await taints.round();
  expect([...nodes.tainted].sort()).toEqual(["a", "b"]);
  expect(taints.problems()).toEqual([]);
});

test("nodes are listed twice a minute while there is nothing to do, and before every write", async () => {
  const { nodes, state, taints } = lab({ returnAfterMs: 10_000 });
  nodes.names = ["a", "b", "c"];
  const all = (verdict: Omit<NodeVerdict, "node">): Hosts =>
    nodes.names.map((name) => host(name, name === "a" ? verdict : fine));
  /** Runs rounds for a minute and returns how often the nodes were listed. */
  const minute = async (): Promise<number> => {
    const before = nodes.lists;
    for (let round = 0; round < 30; round++) {
      state.nowMs += 2_000;
      await taints.round();
    }
    return nodes.lists - before;
  };
  state.hosts = all(fine);
  expect(await minute()).toBeLessThanOrEqual(3);
  expect(await minute()).toBe(2);

  // A taint that another client removed meanwhile is set again, and a fault is acted on in its round.
  state.hosts = all(fault);
  await taints.round();
  expect([...nodes.tainted]).toEqual(["a"]);
  expect(await minute()).toBeLessThanOrEqual(4);
  nodes.tainted.clear();
  await minute();
  expect([...nodes.tainted]).toEqual(["a"]);
  state.hosts = all(fine);
  await minute();
  expect([...nodes.tainted]).toEqual([]);
  expect(await minute()).toBe(2);
});

test("a dry run writes only to the audit log, once for each node", async () => {
  const { nodes, notes, state, taints } = lab({ mode: "dry-run" });
  nodes.names = ["a", "b", "c", "d"];
  state.hosts = nodes.names.map((name) => host(name, name === "d" ? fine : fault));
  await taints.round();
  await taints.round();
  expect([nodes.tainted.size, nodes.conditions.size]).toEqual([0, 0]);
  expect(notes.map(({ what, target, outcome }) => `${what} ${target} ${outcome}`)).toEqual([
    "taint node c refused",
    "dry run: taint node a done",
    "dry run: taint node b done",
  ]);
});

test.each([
  [{ max: 3, maxRatio: 0.25 }, 100, 3],
  [{ max: 3, maxRatio: 0.25 }, 8, 2],
  [{ max: 3, maxRatio: 0.25 }, 3, 0],
  [{ max: 0, maxRatio: 1 }, 8, 0],
  [{ max: 9, maxRatio: 0 }, 8, 0],
])("of the budget %o and %i nodes both hold: %i", (budget, nodes, limit) => {
  expect(budgetLimit(budget, nodes)).toBe(limit);
});

test("only a verdict that takes the GPU out of service taints, the lost before the failing", () => {
  const verdicts = [
    { node: "slow", state: "degraded", action: "drain", text: "" },
    { node: "app", state: "failing", action: "restart_app", text: "" },
    { node: "reset", state: "failing", action: "reset_gpu", text: "" },
    { node: "lost", state: "lost", action: "reboot", text: "" },
    { node: "unknown", state: "unknown", action: "none", text: "" },
    { node: "no-node", state: "lost", action: "drain", text: "" },
  ] as const;
  const nodes = verdicts
    .slice(0, 5)
    .map(({ node }) => ({ node, isTainted: false, isReportedHealthy: undefined }));
  const plan = planTaints(verdicts, nodes, { max: 9, maxRatio: 1 }, new Map(), 0, 0);
  expect(plan.taint.map(({ node }) => node)).toEqual(["lost", "reset"]);
});

/** A seeded generator, so that a failure can be reproduced. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test("under random fault storms the budget is never exceeded", async () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomOf(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    const budget = { max: pick(6), maxRatio: pick(11) / 10 };
    const names = Array.from({ length: 1 + pick(20) }, (_, index) => `node-${index}`);
    const { nodes, state, taints } = lab({ budget, returnAfterMs: pick(3) * 1_000 });
    let again = lab({ budget, returnAfterMs: 0 }).taints;
    nodes.names = names;
    nodes.fails = () =>
      random() < 0.2 ? (["before", "after", "conflict"] as const)[pick(3)] : undefined;
    const most = Math.min(budget.max, Math.floor(budget.maxRatio * names.length));
    nodes.onTaint = () => expect(nodes.tainted.size, `seed ${seed}`).toBeLessThanOrEqual(most);
    again = taints;
    for (let round = 0; round < 30; round++) {
      state.nowMs += 1_000;
      const storm = random();
      state.hosts = names
        .filter(() => random() > 0.1)
        .map((name) => host(name, random() < storm ? fault : fine));
      // A restarted hub has no memory of earlier rounds.
      if (random() < 0.1)
        again = new NodeTaints({
          mode: "on",
          budget,
          returnAfterMs: 0,
          nodes,
          report: () => ({ hosts: state.hosts }),
          audit: { note: () => undefined },
          log: silentLog,
          nowMs: () => state.nowMs,
        });
      await again.round();
    }
  }
});
