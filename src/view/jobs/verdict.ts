/** How well a job used its GPUs, in sentences for its user. */
import type { JobRecord, JobStretch } from "../../runs/jobs/record.ts";

/** A GPU that was useful for less than this share of its time was not used. */
const unusedRatio = 0.05;
const lowRatio = 0.5;
/** Smaller shares are not mentioned. */
const noticedRatio = 0.05;

export function judgeJob({ stretches, scheduler }: JobRecord): string[] {
  if (stretches.length === 0)
    return ["Not observed: no gpulse agent reported the GPUs that the scheduler assigned."];
  const held = stretches.length;
  const known = stretches.filter(({ gpuSeconds, unknownSeconds }) => unknownSeconds < gpuSeconds);
  if (known.length === 0)
    return [`Held ${gpuWord(held)}; they reported no activity, so use is not known.`];
  const unused = known.filter((stretch) => usefulRatio(stretch) < unusedRatio);
  const joules = sum(stretches, ({ joules: own }) => own);
  const idleJoules = sum(unused, ({ joules: own }) => own);
  const sentences: string[] = [];
  const wasted =
    joules > 0 && idleJoules / joules >= noticedRatio
      ? `; ${percent(idleJoules / joules)} of the energy went to idle GPUs`
      : "";
  sentences.push(`Held ${gpuWord(held)}, used ${known.length - unused.length}${wasted}.`);
  const used = known.filter((stretch) => !unused.includes(stretch));
  const ratio =
    sum(used, ({ usefulSeconds }) => usefulSeconds) /
    Math.max(
      1,
      sum(used, ({ gpuSeconds, unknownSeconds }) => gpuSeconds - unknownSeconds),
    );
  if (used.length > 0)
    sentences.push(
      `The used ${used.length === 1 ? "GPU" : "GPUs"} had work for ${ratio < lowRatio ? "only " : ""}${percent(ratio)} of the time.`,
    );
  sentences.push(...remarks(stretches, scheduler?.requestedGpus));
  return sentences;
}

function* remarks(stretches: readonly JobStretch[], requested: number | undefined) {
  const seconds = Math.max(
    1,
    sum(stretches, ({ gpuSeconds }) => gpuSeconds),
  );
  const throttled = sum(stretches, ({ throttledSeconds }) =>
    Math.max(0, ...Object.values(throttledSeconds)),
  );
  if (throttled / seconds >= noticedRatio)
    yield `Clocks were held down for ${percent(Math.min(1, throttled / seconds))} of the time.`;
  const xids = [...new Set(stretches.flatMap(({ xids: own }) => Object.keys(own)))];
  if (xids.length > 0) yield `The driver reported Xid ${xids.join(", ")}.`;
  const shared = stretches.filter(({ neighbours }) => neighbours.length > 0).length;
  if (shared > 0)
    yield `${gpuWord(shared)} ${shared === 1 ? "was" : "were"} shared with other jobs.`;
  const missing = sum(stretches, ({ unobservedSeconds }) => unobservedSeconds);
  if (missing / seconds >= noticedRatio)
    yield `For ${percent(missing / seconds)} of the time there were no readings.`;
  if (requested !== undefined && requested > stretches.length)
    yield `The scheduler assigned ${requested}; ${requested - stretches.length} reported nothing to gpulse.`;
}

const usefulRatio = ({ usefulSeconds, gpuSeconds, unknownSeconds }: JobStretch): number =>
  usefulSeconds / Math.max(1, gpuSeconds - unknownSeconds);

const sum = (stretches: readonly JobStretch[], of: (stretch: JobStretch) => number): number =>
  stretches.reduce((total, stretch) => total + of(stretch), 0);

const gpuWord = (count: number): string => `${count} ${count === 1 ? "GPU" : "GPUs"}`;
export const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`;
