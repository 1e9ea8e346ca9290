/** A user's records under a pseudonym, or without them: what is in the ledger about one person. Pure. */
import type { JobDayPart, JobRecord } from "./record.ts";

/** Ids of plain processes and units hold the user's name: `process:node7/ada/python@1763440000`. */
const renameId = (id: string, user: string, pseudonym: string): string =>
  /^(process|unit):/.test(id) ? id.replace(`/${user}/`, `/${pseudonym}/`) : id;

/** Whether the record is this user's. */
export const isOf = (user: string) => (record: { readonly user?: string | undefined }) =>
  record.user === user;

/** The job under a pseudonym: without its user, its name and what the scheduler said about both. */
export function hideJob(job: JobRecord, pseudonym: string): JobRecord {
  const { user = "", scheduler } = job;
  return {
    ...job,
    id: renameId(job.id, user, pseudonym),
    key: renameId(job.key, user, pseudonym),
    name: hiddenName(job, pseudonym),
    user: pseudonym,
    ...(scheduler === undefined
      ? {}
      : { scheduler: { ...scheduler, name: scheduler.id, user: pseudonym } }),
  };
}

export function hidePart(part: JobDayPart, pseudonym: string): JobDayPart {
  return {
    ...part,
    id: renameId(part.id, part.user ?? "", pseudonym),
    name: hiddenName(part, pseudonym),
    user: pseudonym,
  };
}

/** Names are chosen by users and may say who they are; the scheduler's number says nothing. */
function hiddenName({ id, kind }: Pick<JobDayPart, "id" | "kind">, pseudonym: string): string {
  const number = kind === "slurm" ? /(\d+(?:_\d+)?)@\d+$/.exec(id)?.[1] : undefined;
  return number ?? `${kind} of ${pseudonym}`;
}

/** Neighbours of another user's job, renamed, or left out where `pseudonym` is undefined. */
export function hideNeighbours(
  job: JobRecord,
  ids: ReadonlySet<string>,
  user: string,
  pseudonym: string | undefined,
): JobRecord {
  if (!job.stretches.some(({ neighbours }) => neighbours.some((id) => ids.has(id)))) return job;
  const hide = (id: string): readonly string[] => {
    if (!ids.has(id)) return [id];
    return pseudonym === undefined ? [] : [renameId(id, user, pseudonym)];
  };
  const stretches = job.stretches.map((stretch) => ({
    ...stretch,
    neighbours: stretch.neighbours.flatMap(hide),
  }));
  return { ...job, stretches };
}
