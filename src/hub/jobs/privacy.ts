/** Exports, deletes or pseudonymizes the ledger's records about one user. Works one day at a time and yields in between. */
import { createHmac } from "node:crypto";
import { hideJob, hideNeighbours, hidePart, isOf } from "../../runs/jobs/privacy.ts";
import type { JobRecord, LedgerOutput } from "../../runs/jobs/record.ts";
import type { DayFiles } from "./day-files.ts";
import type { HubJobs } from "./jobs.ts";

/** Pseudonyms are stable for a user as long as the key exists; without the key they cannot be reversed. */
export class Pseudonyms {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  of(user: string): string {
    const digest = createHmac("sha256", this.#key).update(user).digest("hex");
    return `user-${digest.slice(0, 12)}`;
  }

  /** Replaces user names in closed records before they are written. */
  hide(output: LedgerOutput): LedgerOutput {
    const hidden = <Item extends { readonly user?: string | undefined }>(
      item: Item,
      hide: (item: Item, pseudonym: string) => Item,
    ): Item => (item.user === undefined ? item : hide(item, this.of(item.user)));
    return {
      ...output,
      jobs: output.jobs.map((job) => this.#withoutNeighbours(hidden(job, hideJob))),
      parts: output.parts.map(({ day, part }) => ({ day, part: hidden(part, hidePart) })),
    };
  }

  #withoutNeighbours(job: JobRecord): JobRecord {
    if (job.stretches.every(({ neighbours }) => neighbours.length === 0)) return job;
    const hide = (id: string): string =>
      id.replace(userInId, (_, place: string, user: string) => place + this.of(user));
    const stretches = job.stretches.map((stretch) => ({
      ...stretch,
      neighbours: stretch.neighbours.map(hide),
    }));
    return { ...job, stretches };
  }
}

/** The user in the id of a plain process or a systemd unit. */
const userInId = /^((?:process|unit):[^/]*\/)([^/@]+)(?=\/)/;

export interface ForgetResult {
  /** Number of deleted or renamed records. */
  readonly jobs: number;
  readonly days: number;
  /** Number of running jobs: they are not changed, and need another request once they have ended. */
  readonly running: number;
}

/** Yields to the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Yields each record as one JSON object, ended jobs first. */
export async function* exportUser(jobs: HubJobs, user: string): AsyncGenerator<object> {
  const isTheirs = isOf(user);
  for (const day of jobs.files.days()) {
    for (const job of jobs.files.read(day).jobs.values()) if (isTheirs(job)) yield { day, job };
    for (const hours of jobs.files.readParts(day).values())
      if (isTheirs(hours)) yield { day, hours };
    await turn();
  }
  for (const { record } of jobs.ledger.openJobs()) if (isTheirs(record)) yield { job: record };
}

/** @param pseudonym replaces the user's name; undefined deletes the records */
export async function forgetUser(
  jobs: HubJobs,
  user: string,
  pseudonym: string | undefined,
): Promise<ForgetResult> {
  const { files, ledger } = jobs;
  const isTheirs = isOf(user);
  const ids = new Set<string>();
  for (const day of files.days()) {
    for (const part of files.readParts(day).values()) if (isTheirs(part)) ids.add(part.id);
    for (const job of files.read(day).jobs.values()) if (isTheirs(job)) ids.add(job.id);
    await turn();
  }
  let days = 0;
  for (const day of ids.size === 0 ? [] : files.days()) {
    if (forgetInDay(files, day, user, ids, pseudonym)) days++;
    await turn();
  }
  // The journal contains ended jobs until a snapshot replaces it.
  jobs.checkpoint();
  let running = 0;
  for (const { record } of ledger.openJobs()) if (isTheirs(record)) running++;
  return { jobs: ids.size, days, running };
}

function forgetInDay(
  files: DayFiles,
  day: string,
  user: string,
  ids: ReadonlySet<string>,
  pseudonym: string | undefined,
): boolean {
  const isTheirs = isOf(user);
  let isChanged = false;
  const replaced = <Item extends { readonly user?: string | undefined }>(
    item: Item,
    hide: (item: Item, name: string) => Item,
    other: (item: Item) => Item,
  ): readonly Item[] => {
    const next = isTheirs(item)
      ? pseudonym === undefined
        ? []
        : [hide(item, pseudonym)]
      : [other(item)];
    isChanged ||= next[0] !== item;
    return next;
  };
  const { jobs, books } = files.read(day);
  const keptJobs = [...jobs.values()].flatMap((job) =>
    replaced(job, hideJob, (other) => hideNeighbours(other, ids, user, pseudonym)),
  );
  const keptParts = [...files.readParts(day).values()].flatMap((part) =>
    replaced(part, hidePart, (other) => other),
  );
  if (isChanged) files.replace(day, { jobs: keptJobs, books: [...books.values()] }, keptParts);
  return isChanged;
}
