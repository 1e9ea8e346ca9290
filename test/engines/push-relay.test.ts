// A hub per site and one above: data that an agent pushes to its site's hub is in the upper hub under the agent's own
// name, live and as history, including an outage of the upper hub; its series end there when the agent stops.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import {
  agentsOf,
  askHub,
  type HubLocation,
  hubUrl,
  type Killable,
  queryHub,
  startPushAgent,
  startPushHub,
} from "../../engines/push.ts";
import { waitUntil } from "../../engines/wait.ts";
import { labelSet } from "../../src/model/labels.ts";

const stops: (() => Promise<void>)[] = [];
let above: HubLocation;
let site: HubLocation;
let agent: Killable & { readonly port: number };

beforeAll(async () => {
  await ensureBuild();
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-push-relay-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  above = { dataDir: path.join(folder, "above"), port: await freePort() };
  site = {
    dataDir: path.join(folder, "site"),
    port: await freePort(),
    args: [`--to=hub+${hubUrl(above)}`, "--host-name=berlin"],
  };
  let upper = await startPushHub(above);
  stops.unshift(() => upper.stop());
  const lower = await startPushHub(site);
  stops.unshift(() => lower.stop());
  agent = await startPushAgent({
    hostName: "node",
    source: "sim:2",
    spool: path.join(folder, "spool"),
    args: ["--interval=500ms", `--push=${hubUrl(site)}`],
  });
  stops.unshift(() => agent.stop());
  await seen(above, 2);
  await upper.kill();
  await sleep(5_000);
  upper = await startPushHub(above);
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function seen(place: HubLocation, gpus: number): Promise<void> {
  await waitUntil({ what: `${gpus} GPUs`, timeoutMs: 30_000 }, async () =>
    (await queryHub(place, "gpu_power_watts")).length === gpus ? true : undefined,
  );
}

const pageOf = async (place: HubLocation): Promise<readonly string[]> =>
  (await askHub(place, "/metrics")).body
    .split("\n")
    .filter((line) => line.startsWith("gpu_power_watts{"))
    .map((line) => line.replace(/ [^ ]*$/, ""));

test("the hub above has every sample of the site's, and shows the same GPUs under the same names", async () => {
  await waitUntil({ what: "the hub above to have caught up", timeoutMs: 60_000 }, async () => {
    const [relay] = await agentsOf(above);
    return relay?.id === "berlin:9410" && relay.state === "ok" && relay.spool?.records === 0
      ? true
      : undefined;
  });
  await seen(above, 2);
  expect(await pageOf(above)).toEqual(await pageOf(site));
  expect(await pageOf(above)).toHaveLength(2);
  await agent.stop();
  await waitUntil({ what: "the agent to be gone above", timeoutMs: 10_000 }, async () =>
    (await pageOf(above)).length === 0 ? true : undefined,
  );
  expect(await queryHub(above, "gpu_power_watts")).toEqual([]);
  const atMs = Date.now();
  const everything = async (place: HubLocation) =>
    (await queryHub(place, '{job="gpulse"}[1h]', atMs))
      .map(({ metric, values }) => `${JSON.stringify(labelSet(metric))} ${JSON.stringify(values)}`)
      .sort();
  const kept = await everything(site);
  expect(kept.length).toBeGreaterThan(100);
  await waitUntil({ what: "up to have come by remote-write", timeoutMs: 10_000 }, async () =>
    (await everything(above)).length === kept.length ? true : undefined,
  );
  expect(await everything(above)).toEqual(kept);
});
