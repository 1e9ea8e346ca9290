/** `gpulse serving`: LLM servers with their GPUs, latencies and tokens per joule. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { ServingFlags } from "./run.ts";

export function declareServing(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("serving")
    .summary("list LLM servers: tokens, latencies, queue, tokens per joule")
    .description(
      "Asks a running hub for the LLM servers among its scrape targets (vLLM, SGLang, TensorRT-LLM, Triton, Dynamo, llm-d, llama.cpp, TGI) and prints their token rates, latencies, queue, KV cache, and what a token costs in energy at the SLO.",
    )
    .argument("[text]", "servers whose model, address or program contains this (default: all)")
    .option("--window <duration>", "time to average over, 30s to 1h (default: 5m)")
    .option("--ttft <duration>", "SLO: time to first token (default: 1s)")
    .option("--itl <duration>", "SLO: time between two tokens (default: 100ms)")
    .option("--details", "all figures of each server, and why one is absent (default: a table)")
    .option(...hubUrlOption)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code:
  0  the servers were listed, also where there are none
  1  the hub cannot be reached
  2  the command line is not valid

Examples:
  gpulse serving                           all servers of the local hub
  gpulse serving llama --details           every figure of those that serve Llama
  gpulse serving --ttft 500ms --itl 50ms   goodput and tokens per joule at this SLO
  gpulse serving --json                    the same for a program`,
    )
    .action((text: string | undefined, flags: ServingFlags) =>
      finish(async () => (await import("./run.ts")).runServing(text, flags, io)),
    );
  addClientFlags(command);
}
