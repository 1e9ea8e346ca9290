// guidellm drives llama.cpp's server under `gpulse run --result`: its tokens are the server's own count, and the energy is that of
// the time it measured.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { guidellm } from "../../engines/guidellm.ts";
import { startLlamaCpp } from "../../engines/llamacpp.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { readRunFile } from "../../src/runs/file/file.ts";
import { measuredSpan } from "../../src/runs/run.ts";
import { joulesByHand } from "./joules-by-hand.ts";

const REQUESTS = 300;
const GENERATED_TOKENS = 100;

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-guidellm-"));
beforeAll(ensureBuild, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const letters = "abcdefghijklmnopqrstuvwxyz";

test("guidellm's run counts the server's tokens over its own window", async (context) => {
  const command = await orSkip(context, guidellm());
  const server = await orSkip(context, startLlamaCpp());
  try {
    const prompts = path.join(folder, "prompts.jsonl");
    const rows = Array.from({ length: REQUESTS }, (_, at) => ({
      prompt: `${at} ${letters.repeat(4)}`,
      output_tokens_count: GENERATED_TOKENS,
    }));
    writeFileSync(prompts, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const result = path.join(folder, "result.json");
    const out = path.join(folder, "a.gpulserun");
    const { code, stderr } = await runGpulse(
      [
        "run",
        "--source=sim:1?seed=5",
        "--baseline=300ms",
        `--result=${result}`,
        `--out=${out}`,
        "--",
        ...command,
        "run",
        `--backend=kind=openai_http,target=http://${server.address}`,
        "--profile=kind=concurrent,streams=2",
        `--constraint=kind=max_requests,count=${REQUESTS}`,
        `--data=kind=json_file,path=${prompts}`,
        `--output=kind=json,path=${result}`,
        "--disable-console",
      ],
      { timeoutMs: 400_000 },
    );
    expect(code, stderr).toBe(0);
    const { run, trace } = await readRunFile(out);
    expect(run.work).toMatchObject({ amount: REQUESTS * GENERATED_TOKENS, unit: "tokens" });
    const page = await (await fetch(`http://${server.address}/metrics`)).text();
    const counted = /^llamacpp:tokens_predicted_total (\d+)$/m.exec(page)?.[1];
    expect(Number(counted)).toBe(run.work?.amount);
    // guidellm starts and prepares its prompts before it measures.
    const [fromMs, toMs] = measuredSpan(run);
    expect(fromMs - run.startedMs).toBeGreaterThan(500);
    expect(toMs).toBeLessThan(run.endedMs);
    const [device] = run.devices;
    const gpu = trace.get(device?.uuid ?? "");
    const watts =
      gpu?.columns.get("gpu_power_instant_watts") ?? gpu?.columns.get("gpu_power_watts");
    if (gpu === undefined || watts === undefined) throw new Error("no power was recorded");
    const byHand = joulesByHand(gpu.timeMs, watts, [fromMs, toMs]);
    expect(Math.abs((device?.energy.integratedJoules ?? 0) / byHand - 1)).toBeLessThan(0.005);
  } finally {
    await server.stop();
  }
}, 600_000);
