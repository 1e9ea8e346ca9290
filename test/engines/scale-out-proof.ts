// The proof itself, short or long: a fleet sends without pause while consumers and brokers are killed, and a reader's
// results are compared with the acknowledged samples, one by one.

import { waitUntil } from "../../engines/wait.ts";
import { readAll } from "./kafka-lab.ts";
import {
  busyMachineMs,
  FleetHost,
  metrics,
  readThroughHub,
  type RunningPipe,
  type ScaleOutLab,
  topic,
} from "./scale-out-lab.ts";

export interface ProofOptions {
  readonly hosts: number;
  /** Number of real agents in addition to the fleet. */
  readonly agents: number;
  /** Each round kills a consumer and a broker; every broker but the last returns before the next kill. */
  readonly rounds: number;
}

export interface ProofCounts {
  readonly acknowledged: number;
  readonly lost: number;
  /** Samples that a reader gets more than once. */
  readonly duplicated: number;
  /** Samples that a reader gets although they were never sent. */
  readonly strange: number;
  /** Samples that the engine stores more than once but returns once. */
  readonly keptAgain: number;
  /** For real agents: samples in the topic, and those of them that a reader does not get. */
  readonly agents: number;
  readonly agentsLost: number;
  readonly killed: readonly string[];
}

const everyMs = 100;

export async function proveNothingLost(
  lab: ScaleOutLab,
  { hosts, agents, rounds }: ProofOptions,
): Promise<ProofCounts> {
  const killed: string[] = [];
  for (let at = 0; at < 3; at++) await lab.startPipe();
  const witnesses = [];
  for (let at = 0; at < agents; at++) witnesses.push(await lab.startAgent(`agent-${at}`));
  const fleet = Array.from(
    { length: hosts },
    (_, at) => new FleetHost(`fleet-${at}`, lab.topicUrl, everyMs),
  );
  const acknowledged = (): number => fleet.reduce((sum, host) => sum + host.acknowledged.length, 0);
  /** Waits for this many more samples, so that the next kill interrupts work in progress. */
  const more = async (samples: number): Promise<void> => {
    const before = acknowledged();
    await waitUntil(
      { what: `${samples} more acknowledged samples`, timeoutMs: busyMachineMs },
      async () => (acknowledged() - before >= samples ? true : undefined),
    );
  };
  for (const pipe of lab.pipes) await working(pipe);
  for (let round = 0; round < rounds; round++) {
    await more(1_500);
    const victim = lab.pipes[round] as RunningPipe;
    await victim.kill();
    killed.push(`consumer ${round}`);
    if (rounds > 1) await lab.startPipe();
    await more(1_500);
    const broker = lab.kafka.brokers[(round + 1) % lab.kafka.brokers.length];
    await broker?.kill();
    killed.push(`broker ${broker?.id}`);
    await more(3_000);
    if (round < rounds - 1) {
      await broker?.restart();
      await inStep(lab);
    }
  }
  await Promise.all(fleet.map((host) => host.stop()));
  for (const agent of witnesses) await agent.stop(30_000);
  await lab.settled();
  const alive = lab.kafka.brokers.find(({ running }) => running)?.address ?? "";
  const sent = await readAll(`kafka://${alive}/${topic}?group=witness`);
  const byAgents = new Set(
    sent
      .filter(({ host, value }) => host.startsWith("agent-") && !Number.isNaN(value))
      .map(({ uuid, timeMs, value }) => `gpu_power_watts ${uuid} ${timeMs} ${value}`),
  );
  const pending = fleet.flatMap((host) => host.acknowledged);
  // A sample that was just written becomes visible after a moment.
  const found = await waitUntil(
    { what: "what was written last to be shown", timeoutMs: 60_000 },
    async () => {
      const now = await readThroughHub(lab.hub.url, "fleet-.*");
      return now.samples.length >= pending.length ? now : undefined;
    },
  ).catch(() => readThroughHub(lab.hub.url, "fleet-.*"));
  const seen = new Set(found.samples);
  const sentByFleet = new Set(pending);
  const seenOfAgents = new Set((await readThroughHub(lab.hub.url, "agent-.*")).samples);
  return {
    acknowledged: pending.length,
    lost: pending.filter((line) => !seen.has(line)).length,
    duplicated: Math.max(found.samples.length, found.counted) - seen.size,
    strange: [...seen].filter((line) => !sentByFleet.has(line)).length,
    keptAgain: (await storedCount(lab)) - seen.size,
    agents: byAgents.size,
    agentsLost: [...byAgents].filter((line) => !seenOfAgents.has(line)).length,
    killed,
  };
}

async function working(pipe: RunningPipe): Promise<void> {
  await waitUntil(
    {
      what: "a consumer to carry frames",
      timeoutMs: busyMachineMs,
      giveUp: () => (pipe.process.exited() === undefined ? undefined : pipe.process.output()),
    },
    async () => ((await pipe.frames()) > 0 ? true : undefined),
  );
}

/** Waits until every partition has all its replicas in sync, before the next broker may be lost. */
async function inStep({ kafka }: ScaleOutLab): Promise<void> {
  await waitUntil({ what: "all copies to be in step", timeoutMs: busyMachineMs }, async () => {
    const { stdout } = await kafka.tool("org.apache.kafka.tools.TopicCommand", [
      "--bootstrap-server",
      kafka.bootstrap,
      "--describe",
      "--under-replicated-partitions",
    ]);
    return stdout.includes("Partition:") ? undefined : true;
  });
}

/** The number of fleet samples in the engine including duplicates, bypassing its deduplication. */
async function storedCount({ victoria }: ScaleOutLab): Promise<number> {
  const names = metrics.map(({ name }) => name).join("|");
  const match = encodeURIComponent(`{__name__=~"${names}",host=~"fleet-.*"}`);
  const url = `${victoria.url}/api/v1/export?match[]=${match}&reduce_mem_usage=1`;
  const lines = (await (await fetch(url)).text()).split("\n").filter((line) => line !== "");
  return lines
    .map((line) => JSON.parse(line) as { values: (number | null)[] })
    .reduce((sum, { values }) => sum + values.filter((value) => value !== null).length, 0);
}
