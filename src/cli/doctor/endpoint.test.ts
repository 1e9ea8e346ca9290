import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatEndpoint, inspectEndpoint } from "./endpoint.ts";

const nowMs = 1_700_000_000_000;
const labels = 'gpu="0",UUID="GPU-a",modelName="NVIDIA L4",Hostname="n1"';
const pages: Record<string, string> = {
  "/dcgm": `DCGM_FI_DEV_GPU_UTIL{${labels}} 40\nDCGM_FI_DEV_POWER_USAGE{${labels}} 70\nDCGM_FI_DEV_FB_USED{${labels}} 1\nDCGM_FI_DEV_FB_FREE{${labels}} 3\nDCGM_FI_DEV_GPU_TEMP{${labels}} 50\n`,
  "/smi":
    'nvidia_smi_power_draw_watts{uuid="6f1a"} 77\nnvidia_gpu_exporter_build_info{goversion="go1.26.5",version="1.14.0"} 1\n',
  "/other": "go_goroutines 3\n",
  "/broken": "a 1\n7&- x\n",
};

let server: Server;
let base: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? "/";
    if (url === "/prom/api/v1/query") {
      response.end(
        JSON.stringify({
          status: "success",
          data: {
            resultType: "matrix",
            result: [
              {
                metric: {
                  __name__: "DCGM_FI_DEV_GPU_UTIL",
                  UUID: "GPU-b",
                  Hostname: "n2",
                  gpu: "1",
                },
                values: [[nowMs / 1_000, "12"]],
              },
            ],
          },
        }),
      );
    } else if (url.startsWith("/locked")) {
      response.statusCode = 401;
      response.end("login first");
    } else if (pages[url] === undefined) {
      response.statusCode = 404;
      response.end("<html>not found</html>");
    } else {
      response.setHeader("content-type", "text/plain; version=0.0.4");
      response.end(pages[url]);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => void server.close());

test("a page of dcgm-exporter: its GPUs, what works, and the setting for what does not", async () => {
  const report = await inspectEndpoint(`${base}/dcgm`, nowMs);
  expect(report).toMatchObject({
    kind: "metrics page",
    exporters: [{ exporter: "NVIDIA dcgm-exporter", gpus: 1, hosts: 1, models: ["NVIDIA L4"] }],
  });
  const stateOf = (part: string) => report.features.find(({ feature }) => feature.includes(part));
  expect(stateOf("fleet page")?.state).toBe("works");
  expect(stateOf("true utilisation")).toMatchObject({
    state: "missing",
    missing: expect.arrayContaining(["gpu_sm_activity_ratio"]) as string[],
    fixes: [expect.stringContaining("DCGM_FI_PROF_")],
  });
  expect(stateOf("PCIe problems")?.fixes).toEqual([expect.stringContaining("PCIE_LINK_WIDTH")]);
  expect(formatEndpoint(report)).toContain("NVIDIA dcgm-exporter: 1 GPU on 1 host (NVIDIA L4)");
});

test("the version of an exporter, where its page says it", async () => {
  const report = await inspectEndpoint(`${base}/smi`, nowMs);
  expect(report.exporters).toMatchObject([
    { exporter: "utkuozdemir/nvidia_gpu_exporter", versions: ["1.14.0"] },
  ]);
  expect(formatEndpoint(report)).toContain("nvidia_gpu_exporter 1.14.0: 1 GPU on 1 host");
  const dcgm = await inspectEndpoint(`${base}/dcgm`, nowMs);
  expect(dcgm.exporters).toMatchObject([{ versions: [] }]);
  expect(formatEndpoint(dcgm)).toContain("(NVIDIA L4), version not on its page");
});

test("a Prometheus: the GPUs of all its exporters", async () => {
  const report = await inspectEndpoint(`${base}/prom`, nowMs);
  expect(report).toMatchObject({ kind: "Prometheus", exporters: [{ gpus: 1, hosts: 1 }] });
  expect(formatEndpoint(report)).toContain(`gpulse up --prometheus ${base}/prom`);
});

test("a page without GPUs lists the exporters that gpulse knows", async () => {
  const report = await inspectEndpoint(`${base}/other`, nowMs);
  expect(report.exporters).toEqual([]);
  expect(formatEndpoint(report)).toContain("No GPU exporter that gpulse knows. Known: NVIDIA dcgm");
});

test.each([
  ["/nowhere", "is neither a metrics page nor a Prometheus"],
  ["/broken", "cannot be read: line 2"],
  ["/locked", "Check the address, and that it answers without a login"],
])("%s: %s", async (path, problem) => {
  await expect(inspectEndpoint(`${base}${path}`, nowMs)).rejects.toThrow(problem);
});

test("an address where nothing listens is an error with the next step", async () => {
  await expect(inspectEndpoint("http://127.0.0.1:1/metrics", nowMs)).rejects.toThrow(
    /cannot be read: .*ECONNREFUSED.*Check the address/,
  );
});

test("text that is no URL says what to give", async () => {
  await expect(inspectEndpoint("node-1:9400", nowMs)).rejects.toThrow(
    "such as http://node-1:9400/metrics",
  );
});
