/** The schema of a scenario file. Every key is documented in docs/reference/sim-scenarios.md. */
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../../config/fields.ts";
import { findModel, models } from "../models/index.ts";
import { knowsWorkload, workloadNames } from "../workloads/make.ts";
import { jobKinds } from "../workloads/workload.ts";
import { faultNames } from "../fleet/faults.ts";

const dayMs = 86_400_000;
const number = (min: number, max: number) => {
  const takes = `a number from ${min} to ${max}`;
  return v.pipe(v.number(takes), v.minValue(min, takes), v.maxValue(max, takes));
};
const range = (min: number, max: number) =>
  v.tuple([number(min, max), number(min, max)], `two numbers, [from, to], from ${min} to ${max}`);
const oneOf = <const Names extends readonly string[]>(names: Names) =>
  v.picklist(names, `one of ${names.join(", ")}`);

const modelNames = `one of ${models.map(({ name }) => name.replace(/^(NVIDIA|AMD) /, "")).join(", ")}`;
const model = v.pipe(
  text(modelNames),
  v.check((given) => findModel(given) !== undefined, modelNames),
);

/** `all`, one index, `0-3`, or a list such as `0,2,5-7`; parsed into a predicate on the index. */
const gpusTake = "all, an index, a range such as 0-3, or a list such as 0,2,5-7";
const gpus = v.pipe(
  v.union([v.pipe(v.number(gpusTake), v.transform(String)), v.string(gpusTake)], gpusTake),
  v.regex(/^(all|\d+(-\d+)?(,\d+(-\d+)?)*)$/, gpusTake),
);

const span = durationMs(0, 3_650 * dayMs);
const workloadTakes = `one of ${workloadNames.join(", ")}, or a kernel such as matmul_bf16`;

export const scenarioSchema = v.strictObject({
  says: v.optional(text()),
  ambient: v.optional(number(-20, 60), 25),
  airflow: v.optional(number(0.05, 3), 1),
  start: v.optional(
    v.pipe(
      text("a time such as 2026-01-01T09:00:00Z"),
      v.check((given) => !Number.isNaN(Date.parse(given)), "a time such as 2026-01-01T09:00:00Z"),
      v.transform((given) => Date.parse(given)),
    ),
  ),
  fleet: v.optional(
    v.pipe(
      v.array(
        v.strictObject({
          model,
          count: v.optional(wholeNumber(1, 100_000)),
          sleeps: v.optional(flag(), false),
        }),
      ),
      v.minLength(1, "a list of at least one model"),
    ),
    [{ model: "H200" }],
  ),
  queue: v.optional(
    v.strictObject({
      users: v.optional(wholeNumber(1, 1_000), 11),
      jobs: v.pipe(
        v.array(
          v.strictObject({
            kind: oneOf(jobKinds),
            share: v.optional(wholeNumber(1, 100), 1),
            minutes: v.optional(range(0.05, 10_000), [4, 12]),
            level: v.optional(range(0, 0.95), [0.3, 0.6]),
          }),
        ),
        v.minLength(1, "a list of at least one job"),
      ),
    }),
  ),
  workloads: v.optional(
    v.array(
      v.strictObject({
        gpus: v.optional(gpus, "all"),
        run: v.pipe(text(workloadTakes), v.check(knowsWorkload, workloadTakes)),
        level: v.optional(number(0, 0.95), 0.5),
        rate: v.optional(number(0.001, 1_000_000)),
        after: v.optional(span, "0s"),
        for: v.optional(span),
        every: v.optional(span),
      }),
    ),
    [],
  ),
  faults: v.optional(
    v.array(
      v.strictObject({
        fault: oneOf(faultNames),
        gpu: v.optional(gpus, "0"),
        at: v.optional(span, "0s"),
        for: v.optional(span, "10m"),
        every: v.optional(span),
        amount: v.optional(number(0, 1_000_000)),
      }),
    ),
    [],
  ),
});

export type Scenario = v.InferOutput<typeof scenarioSchema>;

/** True if a list such as `0,2,5-7` contains the GPU. */
export function namesGpu(list: string, index: number): boolean {
  if (list === "all") return true;
  return list.split(",").some((part) => {
    const [from = "", to = from] = part.split("-");
    return index >= Number(from) && index <= Number(to);
  });
}
