import { expect, test } from "vitest";
import { capabilities, clockCapability } from "../../formats/frames/push-response.ts";
import { createLog } from "../../base/log.ts";
import { newFolder, openHub, SmallAgent, startMs } from "../../../test/fixtures/hub/agents.ts";

const day = 86_400_000;
const withoutClock = capabilities.filter((one) => one !== clockCapability);

test.for([
  ["an agent's clock is ahead", { hubMs: 0, agentMs: 8 * day }, "8d ahead"],
  ["the hub's clock is behind", { hubMs: -1_800_000, agentMs: 0 }, "30m ahead"],
  [
    "an agent's clock is behind by more than retention",
    { hubMs: 0, agentMs: -40 * day },
    "40d behind",
  ],
] as const)(
  "%s: its frames are neither stored nor acknowledged, and said to be held",
  async ([, { hubMs, agentMs }, says]) => {
    const lines: string[] = [];
    const write = (line: string): void => void lines.push(line);
    const log = createLog({ level: "warn", json: false, colour: false, nowMs: () => 0, write });
    const hub = await openHub(newFolder(), log);
    const agent = new SmallAgent();
    await hub.push(agent.request([[1, startMs - 1_000, 100]], { define: true }));
    hub.clock.setByMs = hubMs;
    const sentMs = startMs + agentMs;
    const late = agent.request(
      [
        [2, startMs - 500, 101],
        [3, sentMs, 102],
        [4, sentMs + 1, 103],
      ],
      { hello: { sentMs } },
    );
    // The first frame is stored if the hub's clock accepts it.
    const acknowledged = hubMs === 0 ? 2 : 1;
    for (let tries = 0; tries < 2; tries++)
      expect(await hub.push(late)).toMatchObject({
        status: 425,
        body: {
          acknowledged,
          clock: { nowMs: startMs + hubMs, newestMs: startMs + hubMs + 600_000 },
          error: `this machine's clock is ${says} of the hub's: frames are held until the clocks agree; fix the wrong clock`,
        },
      });
    expect(hub.storage.api.received.count("push", "held_request")).toBe(2);
    expect(hub.storage.api.received.count("push", "too_new")).toBe(0);
    expect(hub.agents.problems()).toEqual([
      `agent lab:9400: its clock is ${says} of this hub's, so the agent holds its frames: fix the wrong clock`,
    ]);
    expect(await hub.get("/api/agents")).toMatchObject({ agents: [{ held: true }] });
    expect(lines.filter((line) => line.includes("holds its frames"))).toHaveLength(1);
    hub.clock.setByMs = 0;
    hub.clock.nowMs += 4_000;
    const right = agent.request(
      [
        [2, startMs - 500, 101],
        [3, startMs, 102],
        [4, startMs + 1, 103],
      ],
      { hello: { sentMs: hub.clock.nowMs } },
    );
    expect(await hub.push(right)).toMatchObject({ status: 200, body: { acknowledged: 4 } });
    expect(await hub.values("count_over_time(gpu_power_watts[1h])")).toEqual([["lab:9400", "4"]]);
    expect(hub.agents.problems()).toEqual([]);
    expect(await hub.get("/api/agents")).toMatchObject({ agents: [{ held: false }] });
  },
);

test("an agent from before clock/1 is asked to retry while its clock is ahead, and does not retry for ever", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  const sentMs = startMs + day;
  const hello = { sentMs, capabilities: withoutClock };
  const request = agent.request([[1, sentMs, 100]], { define: true, hello });
  expect(await hub.push(request)).toMatchObject({
    status: 425,
    body: {
      acknowledged: 0,
      error:
        "this machine's clock is 1d ahead of the hub's: frames are held until the clocks agree; fix the wrong clock",
    },
  });
  // The agent's clock is correct again: the old frame keeps its timestamp and must not block those behind it.
  const later = agent.request(
    [
      [1, sentMs, 100],
      [2, startMs, 101],
    ],
    { hello: { ...hello, sentMs: startMs } },
  );
  expect(await hub.push(later)).toMatchObject({
    status: 200,
    body: { acknowledged: 2, tooNew: 1 },
  });
  expect(hub.storage.api.received.count("push", "too_new")).toBe(1);
  expect(hub.agents.problems()).toEqual([]);
  expect(await hub.push(agent.request([[3, startMs - 31 * day, 99]], { hello }))).toMatchObject({
    status: 200,
    body: { acknowledged: 3 },
  });
  expect(hub.storage.api.received.count("push", "too_old")).toBe(1);
});

test("a clock of the hub that jumps makes no agent silent and has none forgotten", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  await hub.push(agent.request([[1, startMs, 100]], { define: true }));
  await hub.push(new SmallAgent("gone:9400").request([], { goodbye: true }));
  for (const setByMs of [40 * day, -40 * day, 0]) {
    hub.clock.setByMs = setByMs;
    hub.clock.nowMs += 4_000;
    await hub.agents.watch();
    expect(hub.agents.list.map(({ id, state }) => [id, state])).toEqual([
      ["lab:9400", "ok"],
      ["gone:9400", "stopped"],
    ]);
  }
  expect(await hub.values('up{instance="lab:9400"}')).toEqual([["lab:9400", "1"]]);
});
