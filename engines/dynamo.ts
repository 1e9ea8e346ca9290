// NVIDIA Dynamo from PyPI without GPUs: its real frontend, and its mocker, which schedules requests like vLLM, takes as long as a
// GPU would and exposes vLLM's metrics. The model is a tokenizer of a thousand words.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { installOnce, installWith, requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const VERSION = "1.6.1";
/** The requirements that frontend and mocker import: the others are for other engines and clusters. */
const PACKAGES = [
  "msgspec==0.22.0",
  "packaging==26.3",
  "prometheus-client==0.26.0",
  "pydantic==2.13.5",
  "pyyaml==6.0.3",
  "pyzmq==27.3.0",
  "typing-extensions==4.16.0",
  "uvloop==0.23.0",
];
const START_TIMEOUT_MS = 60_000;

/** Returns a Python with Dynamo; about 100 MB, downloaded once. */
export async function dynamoPython(): Promise<string> {
  const recipe = [VERSION, ...PACKAGES].join(" ");
  const folder = await installOnce("dynamo", recipe, async (aside) => {
    await installWith(requiredTool("python"), ["-m", "venv", aside]);
    const python = path.join(aside, "bin", "python");
    const pip = ["-m", "pip", "install", "--quiet", "--no-compile"];
    await installWith(python, [...pip, ...PACKAGES]);
    const own = [`ai-dynamo==${VERSION}`, `ai-dynamo-runtime==${VERSION}`];
    await installWith(python, [...pip, "--no-deps", ...own]);
  });
  return path.join(folder, "bin", "python");
}

export interface RunningDynamo {
  /** host:port of the frontend: its API, and its metrics at /metrics. */
  readonly frontend: string;
  /** host:port of the worker's metrics. */
  readonly worker: string;
  readonly model: string;
  output(): string;
  stop(): Promise<void>;
}

export async function startDynamo(model = "tiny"): Promise<RunningDynamo> {
  const python = await dynamoPython();
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-dynamo-"));
  writeModel(path.join(folder, "model"));
  mkdirSync(path.join(folder, "discovery"));
  const [frontendPort, workerPort] = [await freePort(), await freePort()];
  const env = {
    DYN_FILE_KV: path.join(folder, "discovery"),
    DYN_REQUEST_PLANE: "tcp",
    HF_HUB_OFFLINE: "1",
    // It stores a copy of the model's files there.
    HOME: folder,
  };
  const running: RunningProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const one of running.toReversed()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const file = ["--discovery-backend", "file"];
  try {
    running.push(
      startProcess(
        python,
        ["-m", "dynamo.frontend", ...file, "--http-host=127.0.0.1", `--http-port=${frontendPort}`],
        { name: "dynamo frontend", env },
      ),
      startProcess(
        python,
        ["-m", "dynamo.mocker", ...file, "--model-path", `${folder}/model`, "--model-name", model],
        {
          name: "dynamo mocker",
          env: { ...env, DYN_SYSTEM_PORT: String(workerPort) },
        },
      ),
    );
    const [frontend, worker] = running;
    await frontend?.waitForUrl(`http://127.0.0.1:${frontendPort}/metrics`, START_TIMEOUT_MS);
    await worker?.waitForUrl(`http://127.0.0.1:${workerPort}/metrics`, START_TIMEOUT_MS);
    await waitUntil(
      { what: "the frontend to have the model", timeoutMs: START_TIMEOUT_MS },
      async () => {
        const answer = await fetch(`http://127.0.0.1:${frontendPort}/v1/models`);
        return (await answer.text()).includes(`"${model}"`) ? true : undefined;
      },
    );
  } catch (error) {
    const output = running.map((one) => one.output()).join("\n");
    await stop();
    throw new Error(`Dynamo does not start: ${output.slice(-4_000)}`, { cause: error });
  }
  return {
    frontend: `127.0.0.1:${frontendPort}`,
    worker: `127.0.0.1:${workerPort}`,
    model,
    output: () => running.map((one) => one.output()).join("\n"),
    stop,
  };
}

/** Words `w3` … `w999`, one token each. */
function writeModel(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const special = ["<unk>", "<s>", "</s>"];
  const words = Array.from({ length: 997 }, (_, at) => `w${at + 3}`);
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const files = {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: special.map((content, id) => ({ id, content, ...flags, special: true })),
      normalizer: null,
      pre_tokenizer: { type: "Whitespace" },
      post_processor: null,
      decoder: null,
      model: {
        type: "WordLevel",
        vocab: Object.fromEntries([...special, ...words].map((word, id) => [word, id])),
        unk_token: "<unk>",
      },
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      bos_token: "<s>",
      eos_token: "</s>",
      unk_token: "<unk>",
      model_max_length: 4_096,
      chat_template: "{% for m in messages %}{{ m['content'] }} {% endfor %}",
    },
    "config.json": {
      architectures: ["LlamaForCausalLM"],
      model_type: "llama",
      hidden_size: 64,
      intermediate_size: 128,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 4,
      vocab_size: 1_000,
      max_position_embeddings: 4_096,
      bos_token_id: 1,
      eos_token_id: 2,
    },
    "generation_config.json": { bos_token_id: 1, eos_token_id: 2 },
  };
  for (const [name, content] of Object.entries(files))
    writeFileSync(path.join(folder, name), JSON.stringify(content));
}
