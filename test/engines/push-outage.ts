// Two agents push to two hubs each: one that stays up, and one behind TLS and tokens that is killed under load and
// restarted with the same data. One agent is killed during the outage. The hub that stayed up is the reference for the
// other.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { freePort } from "../../engines/ports.ts";
import {
  addPushToken,
  agentsOf,
  type HubLocation,
  hubUrl,
  type Killable,
  type PushAgentOptions,
  queryHub,
  startPushAgent,
  startPushHub,
} from "../../engines/push.ts";
import { waitUntil } from "../../engines/wait.ts";
import { labelSet } from "../../src/model/labels.ts";

export interface OutageReport {
  readonly outageSeconds: number;
  readonly series: number;
  readonly samples: number;
  /** By instance: timestamps of its fast frames on the restarted hub. */
  readonly frames: Readonly<Record<string, readonly number[]>>;
  /** Differing series between the two hubs, one sentence each. */
  readonly differences: readonly string[];
  /** Values of `up` on the restarted hub, by instance. */
  readonly up: Readonly<Record<string, string>>;
  readonly lost: number;
}

export async function runOutage(outageSeconds: number): Promise<OutageReport> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-push-outage-"));
  const running: Killable[] = [];
  const keep = <Process extends Killable>(started: Process): Process => {
    running.push(started);
    return started;
  };
  try {
    const ca = makeAuthority("gpulse test CA");
    writeCertificate(folder, "hub", ca.issue({ commonName: "hub", names: ["127.0.0.1"] }));
    await writeFile(path.join(folder, "ca.pem"), ca.cert);
    const file = (name: string): string => path.join(folder, name);
    const steady: HubLocation = { dataDir: file("steady"), port: await freePort() };
    const away: HubLocation = {
      dataDir: file("away"),
      port: await freePort(),
      tls: { cert: file("hub.pem"), key: file("hub.key"), ca: ca.cert },
    };
    const token = await addPushToken(away.dataDir, "agents");
    await writeFile(file("token"), token);
    keep(await startPushHub(steady));
    const hub = keep(await startPushHub(away));
    const agent = (hostName: string, seed: number, port: number): PushAgentOptions => ({
      hostName,
      source: `sim:4?seed=${seed}`,
      spool: file(`spool-${hostName}`),
      port,
      args: [
        "--interval=500ms",
        `--push=${hubUrl(steady)}`,
        `--push=${hubUrl(away)}`,
        `--token=file:${file("token")}`,
        `--ca=${file("ca.pem")}`,
      ],
    });
    const [firstPort, secondPort] = [await freePort(), await freePort()];
    const first = keep(await startPushAgent(agent("first", 1, firstPort)));
    const second = keep(await startPushAgent(agent("second", 2, secondPort)));
    await waitUntil({ what: "both agents on both hubs", timeoutMs: 30_000 }, async () => {
      const counts = await Promise.all([steady, away].map((place) => agentsOf(place)));
      return counts.every((agents) => agents.filter(({ sequence }) => sequence > 5).length === 2)
        ? true
        : undefined;
    });

    await hub.kill();
    await sleep((outageSeconds * 1_000) / 2);
    await second.kill();
    await sleep(2_000);
    const again = keep(await startPushAgent(agent("second", 2, secondPort)));
    await sleep((outageSeconds * 1_000) / 2);
    keep(await startPushHub(away));
    await waitUntil({ what: "the spools to be empty", timeoutMs: 120_000 }, async () => {
      const agents = await agentsOf(away);
      const caughtUp = agents.filter(
        ({ state, spool, lagSeconds }) =>
          state === "ok" && (spool?.records ?? 99) <= 5 && (lagSeconds ?? 99) < 5,
      );
      return caughtUp.length === 2 ? true : undefined;
    });
    const atMs = Date.now();
    const up = Object.fromEntries(
      (await queryHub(away, "up", atMs)).map(({ metric, value }) => [
        metric["host"] ?? metric["instance"] ?? "",
        value?.[1] ?? "",
      ]),
    );
    const lost = (await agentsOf(away)).reduce(
      (sum, { spool }) => sum + (spool?.lostRecords ?? 0),
      0,
    );
    await first.stop();
    await again.stop();
    return { outageSeconds, up, lost, ...(await compare(steady, away)) };
  } finally {
    for (const one of running.reverse()) await one.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

type Samples = ReadonlyMap<string, readonly (readonly [number, string])[]>;

/** All series of a hub except `up` and the agents' self-metrics, which differ per hub or per push. */
async function everything(place: HubLocation, atMs: number): Promise<Samples> {
  const found = await queryHub(place, '{__name__=~"(gpu|host|ml)_.*",job="gpulse"}[1h]', atMs);
  return new Map(
    found.map(({ metric, values }) => [JSON.stringify(labelSet(metric)), values ?? []]),
  );
}

async function compare(steady: HubLocation, away: HubLocation) {
  const atMs = Date.now();
  const truth = await everything(steady, atMs);
  const kept = await everything(away, atMs);
  const differences: string[] = [];
  let samples = 0;
  for (const key of new Set([...truth.keys(), ...kept.keys()])) {
    const [theirs, ours] = [truth.get(key) ?? [], kept.get(key) ?? []];
    samples += ours.length;
    if (JSON.stringify(theirs) !== JSON.stringify(ours))
      differences.push(`${key}: ${theirs.length} there, ${ours.length} here`);
  }
  const frames: Record<string, number[]> = {};
  for (const [key, values] of kept) {
    const metric = Object.fromEntries(JSON.parse(key) as [string, string][]);
    if (metric["__name__"] === "gpu_power_watts" && metric["gpu"] === "0")
      frames[metric["host"] ?? ""] = values.map(([seconds]) => seconds);
  }
  return { series: kept.size, samples, differences, frames };
}
