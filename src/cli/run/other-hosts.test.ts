import { expect, test } from "vitest";
import { readOtherHosts, workOnHub } from "./other-hosts.ts";

const uuid = "GPU-1";

/** A hub whose clock is 1 s ahead of this machine, with an agent whose clock is 3 s behind the hub's. */
const hub = {
  call: async () => ({
    status: 200,
    body: { agents: [{ host: "b", clockDifferenceSeconds: 3 }] },
  }),
  ask: async (_path: string, { query = "", time = "" }: Readonly<Record<string, string>>) => {
    if (query === "time()") return { result: [0, "101"] };
    if (query.startsWith("sum("))
      return { result: [{ metric: {}, value: [0, String(Number(time) * 2)] }] };
    if (query.includes('"nobody"')) return { result: [] };
    const labels = { uuid, gpu: "0", host: "b", job: "gpulse", instance: "b:9400" };
    if (query.startsWith("last_over_time"))
      return {
        result: [{ metric: { ...labels, vendor: "amd", model: "MI300X" }, value: [0, "1"] }],
      };
    expect(time).toBe("108");
    return {
      result: [
        { metric: { __name__: "gpu_power_watts", ...labels }, values: [[107.5, "250"]] },
        { metric: { __name__: "unknown_thing", ...labels }, values: [[107.5, "1"]] },
      ],
    };
  },
};

test("another machine's readings are moved onto this clock, and the difference is stated", async () => {
  const read = await readOtherHosts(hub, ["b", "nobody"], [100_000, 110_000], () => 100_000);
  expect(read.hosts[0]).toEqual({ host: "b", clockDifferenceMs: -2_000 });
  expect([...(read.trace.get(uuid)?.timeMs ?? [])]).toEqual([109_500]);
  expect(read.trace.get(uuid)?.columns.get("gpu_power_watts")).toEqual(Float64Array.of(250));
  expect(read.devices).toMatchObject([{ uuid, vendor: "amd", model: "MI300X", host: "b" }]);
  expect(read.notes).toEqual([
    "The clock of b is about 2000 ms behind this machine's; its readings were moved by that.",
    "The hub has no GPU readings of nobody for this run.",
  ]);
});

test("work on a hub is what the expression rose by", async () => {
  expect(await workOnHub(hub, "x", [1_000, 4_000])).toBe(6);
});

test("GPUs of two hosts with one uuid are two in the run", async () => {
  const shared = {
    call: async () => ({ status: 200, body: { agents: [] } }),
    ask: async (_path: string, { query = "" }: Readonly<Record<string, string>>) => {
      if (query === "time()") return { result: [0, "100"] };
      const host = query.includes('"b"') ? "b" : "c";
      const metric = { __name__: "gpu_power_watts", uuid, gpu: "0", host };
      if (query.startsWith("last_over_time"))
        return { result: [{ metric: { ...metric, vendor: "amd", model: host }, value: [0, "1"] }] };
      return { result: [{ metric, values: [[105, host === "b" ? "250" : "15"]] }] };
    },
  };
  const read = await readOtherHosts(shared, ["b", "c"], [100_000, 110_000], () => 100_000);
  expect(read.devices).toMatchObject([
    { uuid, host: "b", model: "b" },
    { uuid: `${uuid}@c`, host: "c", model: "c" },
  ]);
  expect(
    read.devices.map((one) => read.trace.get(one.uuid)?.columns.get("gpu_power_watts")?.[0]),
  ).toEqual([250, 15]);
});
