/** Parsers of /proc/PID: name and start, user, environment. Pure; text from a process is untrusted. */

export interface ProcessStat {
  readonly name: string;
  readonly parent: number;
  /** Clock ticks since boot; together with the pid it identifies the process, since pids are reused. */
  readonly startTicks: string;
}

/** `/proc/PID/stat`: `pid (name) state ppid …`; the name may contain spaces and brackets, so the last bracket ends it. */
export function parseStat(text: string): ProcessStat | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open === -1 || close <= open) return undefined;
  // Field 22 of the file is the 20th after the name.
  const fields = text.slice(close + 2).split(" ");
  const [parent, startTicks] = [fields[1], fields[19]];
  if (startTicks === undefined || !/^\d{1,20}$/.test(startTicks)) return undefined;
  if (parent === undefined || !/^\d{1,10}$/.test(parent)) return undefined;
  return { name: printable(text.slice(open + 1, close)), parent: Number(parent), startTicks };
}

/** The real user id from `/proc/PID/status`. */
export function parseUid(text: string): string | undefined {
  return /^Uid:\s+(\d{1,10})/m.exec(text)?.[1];
}

/** `name:x:1000:…` lines; the first name of a user id wins. */
export function parsePasswd(text: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [name, , uid] = line.split(":", 3);
    if (name !== undefined && uid !== undefined && /^\d{1,10}$/.test(uid) && !names.has(uid))
      names.set(uid, printable(name));
  }
  return names;
}

const wanted = [
  "SLURM_JOB_ID",
  "SLURM_JOBID",
  "SLURM_JOB_USER",
  "GPULSE_JOB",
  "WANDB_RUN_ID",
  "MLFLOW_RUN_ID",
] as const;
type JobVariable = (typeof wanted)[number];

/** Returns only the listed variables: an environment contains secrets, and nothing else of it may leave this function. */
export function parseEnviron(bytes: Uint8Array): Readonly<Partial<Record<JobVariable, string>>> {
  const found: Partial<Record<JobVariable, string>> = {};
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  for (const pair of text.split("\0")) {
    const name = wanted.find((one) => pair.startsWith(`${one}=`));
    if (name === undefined || found[name] !== undefined) continue;
    const value = pair.slice(name.length + 1);
    if (/^[\w.@-]{1,64}$/.test(value)) found[name] = value;
  }
  return found;
}

/** A process chooses its own name, which may contain characters that a label must not. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, "?").slice(0, 64);
