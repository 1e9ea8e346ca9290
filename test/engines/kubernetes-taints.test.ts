// A lost GPU takes its node out of service in a real API server, and its return brings the node back.

import { expect, onTestFinished, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { AuditLog } from "../../src/access/audit.ts";
import { silentLog } from "../../src/base/log.ts";
import { openTaintLab } from "./kubernetes-taints.ts";

test("a node with a lost GPU is tainted, keeps its other taints, and returns when the GPU is back", async (context) => {
  toolOrSkip(context, "gcc");
  await ensureBuild();
  const lab = await orSkip(context, openTaintLab("on"));
  onTestFinished(() => lab.close());
  const others = { spec: { taints: [{ key: "team", value: "ml", effect: "NoSchedule" }] } };
  await lab.kubernetes.api("PATCH", "/api/v1/nodes/taint-1", others);

  await lab.fault();
  expect(new Set(await lab.taints())).toEqual(new Set(["team", "gpulse.io/unhealthy-gpu"]));
  await expect.poll(() => lab.condition()).toBe("False");
  await lab.recover();
  expect(await lab.taints()).toEqual(["team"]);
  await expect.poll(() => lab.condition()).toBe("True");

  const audit = new AuditLog({ dataDir: lab.dataDir, log: silentLog, nowMs: () => Date.now() });
  const notes = audit.tail(10).map(({ what, target, outcome }) => `${what} ${target} ${outcome}`);
  expect(notes).toEqual(["return node to service taint-1 done", "taint node taint-1 done"]);
});
