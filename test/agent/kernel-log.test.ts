// The built agent from the kernel's log to Loki, with a file in the log's place and a server on loopback in Loki's.

import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

beforeAll(ensureBuild, 300_000);

let folder = "";
let kmsg = "";
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-kernel-log-"));
  kmsg = path.join(folder, "kmsg");
  await writeFile(kmsg, "3,1,1,-;NVRM: Xid (PCI:0000:18:00): 13, before the start\n");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function startAgent(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ agent: RunningProcess; page: () => Promise<string> }> {
  const port = await freePort();
  const agent = startProcess(
    process.execPath,
    [
      program,
      "agent",
      "--source=none",
      "--host=127.0.0.1",
      `--port=${port}`,
      "--host-name=box",
      ...args,
    ],
    { name: "gpulse agent", env },
  );
  const page = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await waitUntil({ what: "the log is open", timeoutMs: 60_000 }, async () =>
    (await page()).includes("\ngpulse_kernel_log_readable 1\n") ? true : undefined,
  );
  return { agent, page };
}

const noise = "6,2,5,-;usb 1-1: new high-speed USB device\n SUBSYSTEM=usb\n";

test("Xid and amdgpu lines reach Loki through an outage, and what waits at the end is sent", async () => {
  const taken: { stream: Record<string, string>; values: [string, string, object][] }[] = [];
  let status = 503;
  const loki = http.createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const { streams } = JSON.parse(Buffer.concat(parts).toString()) as { streams: typeof taken };
      if (incoming.url !== "/loki/api/v1/push") status = 404;
      if (status === 204) taken.push(...streams);
      outgoing.writeHead(status, { "retry-after": "0" }).end();
    });
  });
  await new Promise<void>((resolve) => loki.listen(0, "127.0.0.1", resolve));
  const { port } = loki.address() as AddressInfo;
  const { agent, page } = await startAgent([], {
    GPULSE_KERNEL_LOG: `loki+http://127.0.0.1:${port}?kmsg=${kmsg}&username=gpu&password=\${LOKI_SECRET}`,
    LOKI_SECRET: "n0t-to-be-seen",
  });
  try {
    await appendFile(
      kmsg,
      `${noise}3,3,6,-;NVRM: Xid (PCI:0000:18:00): 79, pid=7, GPU has fallen off the bus.\n`,
    );
    await waitUntil({ what: "a retry", timeoutMs: 60_000 }, async () =>
      /\ngpulse_kernel_log_retries_total [1-9]/.test(await page()) ? true : undefined,
    );
    status = 204;
    await waitUntil({ what: "the first line", timeoutMs: 60_000 }, async () =>
      (await page()).includes('\ngpulse_kernel_log_lines_total{outcome="sent"} 1\n')
        ? true
        : undefined,
    );
    await appendFile(kmsg, "4,6,9,-;amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n");
    const { code } = await agent.stop(30_000);
    expect(code, agent.output()).toBe(0);
    const labels = { job: "gpulse-kernel", host: "box" };
    const time = expect.stringMatching(/^\d{19}$/) as unknown;
    expect(taken).toEqual([
      {
        stream: { ...labels, vendor: "nvidia", level: "error" },
        values: [
          [
            time,
            "NVRM: Xid (PCI:0000:18:00): 79, pid=7, GPU has fallen off the bus.",
            { driver: "nvidia", pci_bus_id: "0000:18:00.0", xid: "79", event: "xid" },
          ],
        ],
      },
      {
        stream: { ...labels, vendor: "amd", level: "warn" },
        values: [
          [
            time,
            "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
            { driver: "amdgpu", pci_bus_id: "0000:03:00.0", event: "reset" },
          ],
        ],
      },
    ]);
    expect(agent.output()).toMatch(/were overwritten before.*lost=2/);
    expect(agent.output()).not.toContain("n0t-to-be-seen");
  } finally {
    await agent.stop();
    loki.close();
    loki.closeAllConnections();
  }
}, 120_000);

test("gpulse.yaml names a file, and since=boot brings what was there of the vendor asked for", async () => {
  const [config, out] = [path.join(folder, "gpulse.yaml"), path.join(folder, "kernel.jsonl")];
  await appendFile(kmsg, "3,2,2,-;amdgpu: of another vendor\n");
  await writeFile(
    config,
    `agent:\n  kernel_log:\n    jsonl: { path: ${out}, kmsg: ${kmsg}, since: boot, vendors: [nvidia] }\n`,
  );
  const { agent, page } = await startAgent([`--config=${config}`]);
  try {
    await waitUntil({ what: "the line", timeoutMs: 60_000 }, async () =>
      (await page()).includes('found_lines_total{vendor="nvidia"} 1\n') ? true : undefined,
    );
    const { code } = await agent.stop(30_000);
    expect(code, agent.output()).toBe(0);
    expect(JSON.parse(await readFile(out, "utf8"))).toMatchObject({ host: "box", xid: "13" });
  } finally {
    await agent.stop();
  }
}, 120_000);

test.each([
  [["--kernel-log", "loki+http:nowhere"], "is not an address to send to"],
  [["--kernel-log", "lokki+http://x"], "loki+http"],
  [["--kernel-log", "loki+http://x?token=abc-hidden"], "unknown key"],
])("agent %j is refused with what to do", async (args, words) => {
  const { code, stderr } = await runGpulse(["agent", ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(words);
  expect(stderr).not.toContain("abc-hidden");
});
