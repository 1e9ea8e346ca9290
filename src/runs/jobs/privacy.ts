/** Pseudonymizes or removes a user's records: all personal data in the ledger. Pure. */
import type { JobDayPart, JobRecord } from "./record.ts";

/** Ids of plain processes and units contain the user's name: `process:node7/ada/python@1763440000`. */
const renameId = (id: string, user: string, pseudonym: string): string =>
  /^(process|unit):/.test(id) ? id.replace(`/${user}/`, `/${pseudonym}/`) : id;

/** True if the record belongs to this user. */
export const isOf = (user: string) => (record: { readonly user?: string | undefined }) =>
  record.user === user;

/** The job under a pseudonym: without its user, its name, its labels and the scheduler's data about both. */
export function hideJob(job: JobRecord, pseudonym: string): JobRecord {
  const { labels: _, ...others } = job;
  const { user = "", scheduler } = job;
  return {
    ...others,
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

/** Users choose names, which may identify them; the scheduler's job number does not. */
function hiddenName({ id, kind }: Pick<JobDayPart, "id" | "kind">, pseudonym: string): string {
  const number = kind === "slurm" ? /(\d+(?:_\d+)?)@[\d.]+$/.exec(id)?.[1] : undefined;
  return number ?? `${kind} of ${pseudonym}`;
}

/** Renames the neighbours in another user's job, or removes them if `pseudonym` is undefined. */
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
