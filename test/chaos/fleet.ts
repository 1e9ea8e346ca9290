// The lab of the chaos suite: a hub, agents with simulated GPUs and a remote-write sender, all real processes except the
// sender, with an unreliable network between: agent or sender → flaky proxy (TCP) → repeating relay (HTTP, records the
// ledger) → hub.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { type FlakyProxy, startFlakyProxy } from "../../engines/flaky-proxy.ts";
import { launchHub, type RunningHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { agentsOf, type HubLocation, type Killable, startPushAgent } from "../../engines/push.ts";
import {
  type RelayBehaviour,
  type RepeatingRelay,
  startRepeatingRelay,
} from "../../engines/repeating-relay.ts";
import { waitUntil } from "../../engines/wait.ts";
import { clockIn, type SetClock } from "./clock.ts";
import { type FrameLedger, openFrameLedger } from "./frames.ts";
import { startWriter, type Writer } from "./writer.ts";

export interface LabAgent {
  readonly hostName: string;
  readonly spool: string;
  readonly port: number;
  readonly clock: SetClock;
  running: Killable;
  /** Restarts the agent with the same spool and port. */
  start(): Promise<void>;
}

export interface ChaosLab {
  readonly folder: string;
  readonly place: HubLocation;
  readonly hubUrl: string;
  hub: RunningHub;
  readonly hubClock: SetClock;
  readonly proxy: FlakyProxy;
  readonly relay: RepeatingRelay;
  /** How the relay delivers requests from now on. */
  deliver: () => RelayBehaviour;
  readonly ledger: FrameLedger;
  readonly agents: readonly LabAgent[];
  readonly writer: Writer;
  /** Returns without waiting until the hub is ready. */
  launch(): Promise<RunningHub>;
  /** Starts the hub if it is not running, and waits until it is ready. */
  ready(): Promise<void>;
  /** Restores the network and waits until all pending data has been delivered. */
  calm(): Promise<void>;
  /** Waits until every agent has received a new acknowledgement. */
  flowing(): Promise<void>;
  close(): Promise<void>;
}

export interface ChaosLabOptions {
  readonly agents: number;
  /** The agents' source; by default one simulated GPU each. */
  readonly source?: string;
  readonly interval?: string;
  readonly dataDir?: string;
  readonly hubArgs?: readonly string[];
  /** A prefix of the hub's command line. */
  readonly under?: readonly string[];
  /** Timeout of everything that depends on the machine's speed. */
  readonly patienceMs?: number;
}

export async function openChaosLab(options: ChaosLabOptions): Promise<ChaosLab> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-"));
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    return await build(folder, stops, options);
  } catch (error) {
    for (const stop of stops.reverse()) await stop();
    throw error;
  }
}

async function build(
  folder: string,
  stops: (() => unknown)[],
  options: ChaosLabOptions,
): Promise<ChaosLab> {
  const { patienceMs = 90_000 } = options;
  const port = await freePort();
  const dataDir = options.dataDir ?? path.join(folder, "data");
  const place: HubLocation = { dataDir, port };
  const ledger = openFrameLedger();
  const relay = await startRepeatingRelay({
    targetPort: port,
    deliver: () => lab.deliver(),
    seen: (request) => ledger.note(request),
  });
  stops.push(() => relay.stop());
  const proxy = await startFlakyProxy(relay.port);
  stops.push(() => proxy.stop());
  const throughBadNetwork = `http://127.0.0.1:${proxy.port}`;
  const hubClock = clockIn(folder, "hub");
  const env = Object.entries(hubClock.env).map(([name, value]) => `${name}=${value}`);
  const launch = async (): Promise<RunningHub> => {
    lab.hub = await launchHub({
      dataDir,
      port,
      args: options.hubArgs ?? [],
      under: [...(options.under ?? []), "env", ...env],
    });
    return lab.hub;
  };
  const agents: LabAgent[] = [];
  const lab: ChaosLab = {
    folder,
    place,
    hubUrl: `http://127.0.0.1:${port}`,
    hub: undefined as unknown as RunningHub,
    hubClock,
    proxy,
    relay,
    deliver: () => "well",
    ledger,
    agents,
    writer: startWriter(throughBadNetwork),
    launch,
    ready: async () => {
      if (lab.hub.process.exited() !== undefined) await launch();
      await lab.hub.ready(patienceMs);
    },
    calm: async () => {
      proxy.weather = {};
      lab.deliver = () => "well";
      // Clients that wait for a lost response fail immediately instead of after half a minute.
      proxy.reset();
      await lab.ready();
      await lab.flowing();
      await waitUntil({ what: "the spools to be empty", timeoutMs: patienceMs }, async () => {
        const reported = await agentsOf(place);
        const left = agents.map(({ hostName }) => {
          const agent = reported.find(({ id }) => id.startsWith(`${hostName}:`));
          return agent?.state === "ok" ? (agent.spool?.records ?? 99) : 99;
        });
        if (left.every((records) => records <= 4)) return true;
        throw new Error(`${left.join(" and ")} records wait`);
      });
    },
    flowing: async () => {
      const before = await sequences(place);
      const batches = lab.writer.acknowledged();
      await waitUntil({ what: "everybody to get through", timeoutMs: patienceMs }, async () => {
        const now = await sequences(place);
        const went = agents.filter(
          ({ hostName }) => (now[hostName] ?? 0) > (before[hostName] ?? 0),
        );
        if (went.length === agents.length && lab.writer.acknowledged() > batches) return true;
        throw new Error(
          `${went.length} of ${agents.length} agents, ${lab.writer.acknowledged()} batches`,
        );
      });
    },
    close: async () => {
      for (const stop of stops.reverse()) await stop();
    },
  };
  stops.push(async () => {
    if (lab.hub?.process.exited() === undefined) await lab.hub?.kill();
  });
  await launch();
  await lab.ready();
  for (let at = 0; at < options.agents; at++)
    agents.push(await openAgent(folder, at, throughBadNetwork, options, stops));
  return lab;
}

async function sequences(place: HubLocation): Promise<Record<string, number>> {
  const reported = await agentsOf(place);
  return Object.fromEntries(reported.map(({ id, sequence }) => [id.split(":")[0] ?? "", sequence]));
}

async function openAgent(
  folder: string,
  at: number,
  push: string,
  options: ChaosLabOptions,
  stops: (() => unknown)[],
): Promise<LabAgent> {
  const hostName = `node-${at}`;
  const clock = clockIn(folder, hostName);
  const port = await freePort();
  const spool = path.join(folder, `spool-${at}`);
  const launch = (): Promise<Killable> =>
    startPushAgent({
      hostName,
      source: options.source ?? `sim:1?seed=${at + 1}`,
      spool,
      port,
      args: [`--interval=${options.interval ?? "500ms"}`, `--push=${push}`],
      env: clock.env,
    });
  const agent: LabAgent = {
    hostName,
    spool,
    port,
    clock,
    running: await launch(),
    start: async () => {
      agent.running = await launch();
    },
  };
  stops.push(() => agent.running.kill());
  return agent;
}
