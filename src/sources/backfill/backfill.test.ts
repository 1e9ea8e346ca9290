import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createLog } from "../../base/log.ts";
import { openSources } from "../open.ts";
import type { SourceContext, StreamingSource } from "../source.ts";

const context: SourceContext = {
  host: "here",
  log: createLog({ level: "error", json: false, colour: false, nowMs: () => 0, write: () => {} }),
  nowMs: () => 0,
  sysfs: "/sys",
  procfs: "/proc",
};
const day = Date.UTC(2026, 0, 15);
let server: Server | undefined;
afterEach(() => server?.close());

/** A server that responds like the engines; the real ones are tested in test/engines. */
async function serve(answer: (path: string, form: URLSearchParams) => unknown): Promise<string> {
  server = createServer((request, reply) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const said = answer(request.url ?? "", new URLSearchParams(body));
      reply.writeHead(said === undefined ? 401 : 200).end(JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function read(url: string): Promise<{ said: string[]; models: string[] }> {
  const [opened] = await openSources([url], context);
  const source = opened?.source as StreamingSource;
  const said: string[] = [];
  try {
    await source.run(async ({ timeMs, layout, values }) => {
      const cells = layout.series.map(
        ({ metric, labels }, slot) =>
          `${metric.name}{${labels.map((pair) => pair.join("=")).join()}}=${values[slot]}`,
      );
      said.push(`${(timeMs - day) / 1_000} ${cells.join(" ")}`);
    }, new AbortController().signal);
    return { said, models: source.devices().map(({ model }) => model) };
  } finally {
    await source.close();
  }
}

test("Prometheus is asked window by window, each instant once, and its series become frames", async () => {
  const asked: string[] = [];
  const at = await serve((path, form) => {
    const [start, end] = [Number(form.get("start")), Number(form.get("end"))];
    asked.push(`${path} ${start - day / 1_000} ${end - day / 1_000} ${form.get("step")}`);
    const values: [number, string][] = [];
    for (let t = start; t <= end; t += 30) values.push([t, String(t - day / 1_000)]);
    const labels = { job: "j", instance: "i", uuid: "A", gpu: "0", host: "h" };
    return {
      data: {
        result: [
          { metric: { __name__: "gpu_power_watts", ...labels }, values },
          { metric: { __name__: "gpu_info", vendor: "amd", model: "MI300X", ...labels }, values },
        ],
      },
    };
  });
  const { said, models } = await read(
    `prometheus+http://${at}/prom?start=2026-01-15&end=2026-01-15T00:02:00Z&step=30s&window=60s`,
  );
  expect(asked).toEqual(["/prom/api/v1/query_range 0 30 30", "/prom/api/v1/query_range 60 90 30"]);
  expect(said.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(
    [0, 30, 60, 90].map((t) => `${t} gpu_power_watts{gpu=0,host=h,uuid=A}=${t}`),
  );
  expect(models).toEqual(["MI300X"]);
});

test("InfluxDB's fields are columns by our names or GPU-Z's, back in base units", async () => {
  const at = await serve((_, form) =>
    form.get("db") !== "metrics"
      ? { results: [{ error: "database not found" }] }
      : {
          results: [
            {
              series: [
                {
                  name: "gpu_metrics",
                  tags: { uuid: "A", gpu: "1", host: "h", vendor: "nvidia", model: "RTX" },
                  columns: ["time", "gpu_load", "board_power", "other", "cpu_temperature"],
                  values: [
                    [day, 50, 200.5, "x", null],
                    [day + 1_000, null, 201, "x", 60],
                  ],
                },
              ],
            },
          ],
        },
  );
  const { said, models } = await read(
    `influxdb+http://${at}/metrics?start=2026-01-15&end=2026-01-15T01:00:00Z`,
  );
  expect(said).toEqual([
    "0 gpu_utilization_ratio{gpu=1,host=h,uuid=A}=0.5 gpu_power_watts{gpu=1,host=h,uuid=A}=200.5",
    "1 gpu_power_watts{gpu=1,host=h,uuid=A}=201 host_cpu_temperature_celsius{host=h,sensor=package}=60",
  ]);
  expect(models).toEqual(["RTX"]);
  await expect(read(`influxdb+http://${at}/none?start=2026-01-15`)).rejects.toThrow("not found");
});

test.each([
  ["prometheus+http://127.0.0.1:1", "SOURCE_OPTIONS", /start=/],
  ["prometheus+http:?start=2026-01-15", "SOURCE_OPTIONS", /Name the server/],
  ["prometheus+http://127.0.0.1:1?start=never", "SOURCE_OPTIONS", /an instant such as/],
  ["prometheus+http://127.0.0.1:1?start=2026-01-15", "QUERY_FAILED", /does not answer/],
])("%s is refused with what to do", async (url, code, says) => {
  const failed = { code, message: expect.stringMatching(says) as unknown };
  await expect(read(url)).rejects.toMatchObject(failed);
});
