// A stack in its data folder: writes its files, starts its services and its control server, and removes everything again.

import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import path from "node:path";

import { findCadvisor } from "./cadvisor.ts";
import { openGroups } from "./cgroup.ts";
import { openControl } from "./control.ts";
import { writeCertificates, writeRouting, writeRules, writeTargets } from "./files.ts";
import { type Place, removeState, runningState, type StackState, writeState } from "./place.ts";
import { choosePorts } from "./ports.ts";
import { buildPrograms } from "./programs.ts";
import { isSkipped } from "./service.ts";
import { declareServices } from "./services.ts";
import { type Change, Supervisor } from "./supervisor.ts";
import { withSkips } from "./order.ts";
import type { Row } from "./table.ts";
import { processTree, usageOf } from "./usage.ts";

export interface StackOptions {
  readonly dataDir: string;
  readonly ports: "usual" | "free";
  readonly quick: boolean;
  readonly without: readonly string[];
  readonly daySeconds: number;
  readonly onChange: (change: Change) => void;
  readonly say: (line: string) => void;
}

export interface Stack {
  readonly state: StackState;
  /** Includes the current resource usage of each. */
  rows(): readonly Row[];
  isHealthy(): boolean;
  stop(): Promise<void>;
}

export async function openStack(options: StackOptions): Promise<Stack> {
  const { quick, without, daySeconds, say } = options;
  const dataDir = path.resolve(options.dataDir);
  const before = runningState(dataDir);
  if (before !== undefined)
    throw new Error(
      `a stack already runs with its data in ${dataDir} (process ${before.pid}): stop it with Ctrl-C or kill ${before.pid}, or name another folder with --data`,
    );
  const ports = await choosePorts(options.ports, without);
  const place: Place = { dataDir, ports, quick, without, daySeconds };
  const mail = { user: "gpulse", password: randomBytes(18).toString("base64url") };
  await mkdir(dataDir, { recursive: true });
  await buildPrograms(dataDir);
  const groups = openGroups();
  if ("missing" in groups)
    say(`no groups and memory limits of their own for services: ${groups.missing}`);
  const cadvisor = without.includes("cadvisor")
    ? { missing: "left out by --without" }
    : await findCadvisor("missing" in groups ? undefined : groups.path);
  const declared = withSkips(declareServices(place, { mail, cadvisor }));
  const known = declared.map(({ name }) => name);
  const unknown = without.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--without ${unknown.join(", ")}: there are ${known.join(", ")}`);
  const running = new Set(declared.filter((one) => !isSkipped(one)).map(({ name }) => name));
  await writeRules(dataDir, quick);
  await writeTargets(place, (name) => running.has(name));
  await writeCertificates(dataDir);
  await writeRouting(place, quick, mail);

  const supervisor = new Supervisor({
    services: declared,
    logDir: path.join(dataDir, "logs"),
    onChange: options.onChange,
    ...("missing" in groups ? {} : { joinsOf: (service) => groups.joinsOf(service) }),
  });
  const rows = (): readonly Row[] => {
    const tree = processTree();
    return supervisor.statuses().map((status) => {
      const usage = status.pid === undefined ? undefined : usageOf(status.pid, tree);
      return usage === undefined ? status : { ...status, usage };
    });
  };
  let isQuick = quick;
  const control = await openControl({
    rows,
    hold: (name) => supervisor.hold(name),
    release: (name) => supervisor.release(name),
    setQuick: async (wanted) => {
      if (wanted === isQuick) return;
      isQuick = wanted;
      await writeRules(dataDir, wanted);
      await writeRouting(place, wanted, mail);
      for (const name of ["prometheus", "alertmanager", "hub"])
        if (running.has(name)) supervisor.signal(name, "SIGHUP");
    },
  });
  const state: StackState = {
    ...place,
    pid: process.pid,
    startedMs: Date.now(),
    control: { url: control.url, token: control.token },
  };
  await writeState(state);
  supervisor.start();
  return {
    state,
    rows,
    isHealthy: () => supervisor.isHealthy(),
    stop: async () => {
      await supervisor.stop();
      await control.close();
      if (!("missing" in groups)) await groups.close();
      await removeState(dataDir);
      await rm(path.join(dataDir, "programs"), { recursive: true, force: true });
    },
  };
}
