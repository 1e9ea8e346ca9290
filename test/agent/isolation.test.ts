import { beforeAll, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

beforeAll(ensureBuild, 300_000);

const faults = ["fault:throw", "fault:hang", "fault:garbage"];

test("three broken sources beside a good one, on the built program, until it is asked to stop", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const sources = ["sim:8", ...faults].flatMap((source) => ["--source", source]);
  const args = [
    program,
    "agent",
    ...sources,
    "--interval",
    "200ms",
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
  ];
  const agent = startProcess(process.execPath, args, { name: "gpulse agent" });
  try {
    const value = async (pattern: RegExp): Promise<number> => {
      const page = await (await fetch(`${url}/metrics`)).text();
      return Number(pattern.exec(page)?.[1] ?? Number.NaN);
    };
    const okReads = /gpulse_source_reads_total\{outcome="ok",source="sim",tier="fast"\} (\d+)/;
    await waitUntil({ what: "30 good reads", timeoutMs: 60_000 }, async () =>
      (await value(okReads)) >= 30 ? true : undefined,
    );

    const ready = await fetch(`${url}/readyz`);
    const { sources: states } = (await ready.json()) as {
      sources: { source: string; ok: boolean; trouble?: string }[];
    };
    expect(ready.status).toBe(200);
    expect(states.filter(({ ok }) => ok).map(({ source }) => source)).toEqual(["sim", "health"]);
    expect(states.find(({ source }) => source === "fault")?.trouble).toContain("fails on purpose");
    expect(states.find(({ source }) => source === "fault-2")?.trouble).toContain("hung");
    expect(states.find(({ source }) => source === "fault-3")?.trouble).toContain(
      "frame has no time",
    );
    expect((await fetch(`${url}/healthz`)).status).toBe(200);

    expect(
      await value(/gpulse_source_reads_total\{outcome="failed",source="fault",tier="fast"\} (\d+)/),
    ).toBeGreaterThan(0);
    expect(
      await value(/gpulse_source_reads_total\{outcome="late",source="fault-2",tier="fast"\} (\d+)/),
    ).toBe(1);
    expect(
      await value(
        /gpulse_source_reads_total\{outcome="invalid",source="fault-3",tier="fast"\} (\d+)/,
      ),
    ).toBeGreaterThan(0);

    const { code } = await agent.stop(10_000);
    expect(code, agent.output()).toBe(0);
    expect(agent.output().match(/source failed/g)).toHaveLength(5);
  } finally {
    await agent.stop();
  }
}, 120_000);

test("variables of the older collectors are honoured, and flags win over them", async () => {
  const port = await freePort();
  const env = {
    EXPORTER_PORT: String(port),
    COLLECTION_INTERVAL: "30",
    LOG_LEVEL: "WARNING",
    METRICS_PATH: "/gpu",
  };
  const agent = startProcess(
    process.execPath,
    [program, "agent", "--source", "sim:2", "--host", "127.0.0.1"],
    { env },
  );
  try {
    await agent.waitForUrl(`http://127.0.0.1:${port}/gpu`);
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);
    expect(agent.output()).not.toContain("info");
    await expect.poll(() => agent.output()).toContain("simulated");
  } finally {
    await agent.stop();
  }
}, 60_000);
