// The simulated model server: an OpenAI-compatible API in front of the fleet, its clock, and its metrics. Must always state that
// it is simulated.

import { SpanKind, type Tracer } from "@opentelemetry/api";
import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Registry, collectDefaultMetrics } from "prom-client";

import { HttpError } from "../run/http.ts";
import { contextFrom, inSpan } from "../run/tracing.ts";
import type { Engine, Watcher } from "./engine.ts";
import { Fleet, type FleetSettings } from "./fleet.ts";
import {
  drawOutputTokens,
  type FinishReason,
  newSequence,
  type Sequence,
  tokensOf,
} from "./sequence.ts";
import { tellEngines, watchAsVllm } from "./vllm-metrics.ts";

const TICK_MS = 10;
const DONE_KEPT = 1_000;

export interface ModelSettings extends FleetSettings {
  readonly modelName: string;
  readonly maxModelTokens: number;
  readonly slowdown: number;
  /** Share of requests that fail with 500, from 0 to 1. */
  readonly errorRatio: number;
}

export interface ModelClock {
  readonly nowMs: () => number;
  readonly random: () => number;
}

interface Ended {
  readonly sequence: Sequence;
  readonly reason: FinishReason;
}

export class ModelServer {
  readonly registry = new Registry();
  readonly fleet: Fleet;
  readonly #settings: ModelSettings;
  readonly #clock: ModelClock;
  readonly #ends = new Map<string, (ended: Ended) => void>();
  /** Ids of completed batch jobs, the newest at the end: a repeated request gets the same response. */
  readonly #batchDone = new Set<string>();
  readonly #batchCounter: Counter;
  #errorRatio: number;
  #ticking: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(settings: ModelSettings, clock: ModelClock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#errorRatio = settings.errorRatio;
    collectDefaultMetrics({ register: this.registry });
    const counted = watchAsVllm(this.registry, settings);
    const watcher: Watcher = {
      ...counted,
      finished: (engine, sequence, reason) => {
        counted.finished(engine, sequence, reason);
        this.#ends.get(sequence.id)?.({ sequence, reason });
        this.#ends.delete(sequence.id);
      },
    };
    this.fleet = new Fleet(settings, watcher, clock.random);
    this.fleet.setSlowdown(settings.slowdown);
    tellEngines(this.registry, settings, this.fleet.engines);
    this.#batchCounter = new Counter({
      name: "ml_batch_jobs_total",
      help: "Batch jobs that ended.",
      registers: [this.registry],
    });
    this.#tellGpus();
  }

  start(): void {
    this.#ticking = setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#ticking);
  }

  tick(): void {
    for (const { order } of this.fleet.advance(this.#clock.nowMs())) {
      this.#batchCounter.inc();
      this.#batchDone.add(order.id);
      const [oldest] = this.#batchDone;
      if (this.#batchDone.size > DONE_KEPT && oldest !== undefined) this.#batchDone.delete(oldest);
    }
  }

  routes(app: FastifyInstance, tracer: Tracer): void {
    app.get("/load", async () => ({
      simulated: true,
      gpus: this.fleet.loads(this.#clock.nowMs()),
    }));
    app.post("/v1/completions", async (request, reply) => {
      const attributes = { "gen_ai.request.model": this.#settings.modelName, simulated: true };
      const how = { kind: SpanKind.SERVER, attributes, parent: contextFrom(request.headers) };
      return inSpan(tracer, "POST /v1/completions", how, async (span) => {
        const { prompt, maxTokens } = this.#asked(request.body);
        if (this.#clock.random() < this.#errorRatio)
          throw new HttpError(500, "simulated_fault", "a fault was asked for with /fault");
        const { engine, sequence, ended } = this.#submit(prompt, maxTokens);
        const abort = (): void => engine.abort(sequence.id, this.#clock.nowMs());
        reply.raw.once("close", abort);
        const { reason } = await ended;
        reply.raw.off("close", abort);
        span.setAttributes({
          "gpu.index": engine.index,
          "gen_ai.usage.input_tokens": sequence.promptTokens,
          "gen_ai.usage.output_tokens": sequence.generated,
        });
        return this.#answer(engine, sequence, reason);
      });
    });
    app.put<{ Params: { id: string } }>("/v1/batch/:id", async (request, reply) => {
      const { id } = request.params;
      const { seconds, gpu } = batchAsked(request.body, this.#settings.gpus);
      if (!this.#batchDone.has(id)) this.fleet.order({ id, seconds, gpu }, this.#clock.nowMs());
      reply.code(202);
      return this.#batch(id);
    });
    app.get<{ Params: { id: string } }>("/v1/batch/:id", (request) =>
      this.#batch(request.params.id),
    );
    app.post("/fault", (request) => {
      const given = objectOf(request.body);
      const slowdown = numberOf(given, "slowdown", 1, [0.01, 1000]);
      this.#errorRatio = numberOf(given, "error_ratio", 0, [0, 1]);
      this.fleet.setSlowdown(slowdown);
      return { slowdown, error_ratio: this.#errorRatio };
    });
  }

  #batch(id: string): Record<string, unknown> {
    const status = this.#batchDone.has(id) ? "done" : this.fleet.batchState(id);
    if (status === undefined) throw new HttpError(404, "not_found", `there is no batch job ${id}`);
    return { id, status, simulated: true };
  }

  #asked(body: unknown): { readonly prompt: string; readonly maxTokens: number } {
    const given = objectOf(body);
    const { prompt } = given;
    if (typeof prompt !== "string" || prompt === "")
      throw new HttpError(400, "invalid_request", "prompt must be a text that is not empty");
    const { maxModelTokens } = this.#settings;
    const maxTokens = Math.floor(numberOf(given, "max_tokens", 16, [1, maxModelTokens]));
    if (tokensOf(prompt) + maxTokens > maxModelTokens)
      throw new HttpError(
        400,
        "invalid_request",
        `prompt and max_tokens are more than the ${maxModelTokens} tokens the model takes`,
      );
    return { prompt, maxTokens };
  }

  #submit(
    prompt: string,
    maxTokens: number,
  ): { engine: Engine; sequence: Sequence; ended: Promise<Ended> } {
    const nowMs = this.#clock.nowMs();
    const sequence = newSequence(
      {
        id: `cmpl-${(this.#lastId += 1)}`,
        promptTokens: tokensOf(prompt),
        maxTokens,
        outputTokens: drawOutputTokens(maxTokens, this.#clock.random),
      },
      nowMs,
    );
    const ended = new Promise<Ended>((resolve) => this.#ends.set(sequence.id, resolve));
    return { engine: this.fleet.submit(sequence, prompt, nowMs), sequence, ended };
  }

  #answer(engine: Engine, sequence: Sequence, reason: FinishReason): Record<string, unknown> {
    const text = `(simulated answer of ${sequence.generated} tokens)`;
    return {
      id: sequence.id,
      object: "text_completion",
      created: Math.floor(this.#clock.nowMs() / 1000),
      model: this.#settings.modelName,
      simulated: true,
      gpu: engine.index,
      choices: [{ index: 0, text, logprobs: null, finish_reason: reason }],
      usage: {
        prompt_tokens: sequence.promptTokens,
        completion_tokens: sequence.generated,
        total_tokens: sequence.promptTokens + sequence.generated,
      },
    };
  }

  #tellGpus(): void {
    const registers = [this.registry];
    const { fleet } = this;
    const info = new Gauge({
      name: "ml_info",
      help: "The model that is served; simulated, so its tokens cost no energy.",
      labelNames: ["simulated", "model_name"],
      registers,
    });
    info.set({ simulated: "true", model_name: this.#settings.modelName }, 1);
    const perGpu = { labelNames: ["gpu"], registers };
    const busy: Gauge = new Gauge({
      ...perGpu,
      name: "ml_gpu_busy_ratio",
      help: "Share of the last second in which the simulated GPU worked.",
      collect: () => {
        for (const load of fleet.loads(this.#clock.nowMs()))
          busy.set({ gpu: `${load.gpu}` }, load.busy);
      },
    });
    const loss: Gauge = new Gauge({
      ...perGpu,
      name: "ml_training_loss",
      help: "Loss of the batch job that the GPU trains; absent where none does.",
      collect: () => {
        loss.reset();
        for (const { index } of fleet.engines) {
          const value = fleet.training(index)?.loss;
          if (value !== undefined) loss.set({ gpu: `${index}` }, value);
        }
      },
    });
    const steps: Counter = new Counter({
      ...perGpu,
      name: "ml_training_steps_total",
      help: "Training steps of batch jobs.",
      collect: () => {
        steps.reset();
        for (const [gpu, count] of fleet.trainingSteps.entries())
          steps.inc({ gpu: `${gpu}` }, count);
      },
    });
    const batch: Gauge = new Gauge({
      name: "ml_batch_jobs",
      help: "Batch jobs here, by what they do.",
      labelNames: ["state"],
      registers,
      collect: () => {
        const running = fleet.engines.filter(({ index }) => fleet.training(index) !== undefined);
        batch.set({ state: "waiting" }, fleet.batchWaiting);
        batch.set({ state: "running" }, running.length);
      },
    });
  }
}

function objectOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === "object" && body !== null && !Array.isArray(body))
    return body as Readonly<Record<string, unknown>>;
  throw new HttpError(400, "invalid_request", "the body must be a JSON object");
}

function numberOf(
  given: Readonly<Record<string, unknown>>,
  name: string,
  fallback: number,
  [least, most]: readonly [number, number],
): number {
  const value = given[name] ?? fallback;
  if (typeof value === "number" && value >= least && value <= most) return value;
  throw new HttpError(400, "invalid_request", `${name} must be a number from ${least} to ${most}`);
}

function batchAsked(body: unknown, gpus: number): { seconds: number; gpu: number | undefined } {
  const given = objectOf(body);
  const seconds = numberOf(given, "seconds", 30, [0.1, 86_400]);
  const gpu =
    given["gpu"] === undefined ? undefined : Math.floor(numberOf(given, "gpu", 0, [0, gpus - 1]));
  return { seconds, gpu };
}
