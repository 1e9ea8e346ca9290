// Results in PostgreSQL: one row per job however often it was done, since the job of a dead worker is repeated.

import { Pool } from "pg";

import type { QueueName, Outcome, Result } from "../queue/job.ts";
import { type Log, reasonOf } from "../run/log.ts";
import { every } from "../run/loop.ts";

const TABLE = `create table if not exists results (
  id text primary key,
  queue text not null,
  outcome text not null,
  body jsonb not null,
  finished_at timestamptz not null,
  written_at timestamptz not null default now()
);
create index if not exists results_finished_at on results (finished_at)`;
const PROBE_MS = 1_000;
const STATEMENT_LIMIT_MS = 5_000;

export interface ResultStore {
  readonly pool: Pool;
  /** Why it is unavailable; undefined while it responds. */
  problem(): string | undefined;
  /** Writes the result unless the job has one; returns whether it was written. */
  write(result: Result): Promise<boolean>;
  find(id: string): Promise<Result | undefined>;
  /** Removes results that finished before `beforeMs`; returns the number of rows. */
  forget(beforeMs: number): Promise<number>;
  stop(): Promise<void>;
}

interface Row {
  readonly id: string;
  readonly queue: QueueName;
  readonly outcome: Outcome;
  readonly body: Record<string, unknown>;
  readonly finished_at: Date;
}

export function openResults(url: string, poolSize: number, log: Log): ResultStore {
  const pool = new Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: STATEMENT_LIMIT_MS,
    statement_timeout: STATEMENT_LIMIT_MS,
    query_timeout: STATEMENT_LIMIT_MS,
    application_name: "demo-app",
  });
  let problem: string | undefined = "PostgreSQL is not connected yet";
  let hasTable = false;
  // Errors of idle connections are reported here; without a listener they would end the process.
  pool.on("error", (error) => away(error));
  const away = (error: unknown): void => {
    if (problem === undefined) log.warn("PostgreSQL is away", { error: reasonOf(error) });
    problem = `PostgreSQL is away: ${reasonOf(error)}`;
  };
  const there = (): void => {
    if (problem !== undefined) log.info("PostgreSQL is there");
    problem = undefined;
  };
  const probe = async (): Promise<void> => {
    try {
      if (!hasTable) await createTable(pool);
      hasTable = true;
      await pool.query("select 1");
      there();
    } catch (error) {
      away(error);
    }
  };
  const probing = every(PROBE_MS, probe);
  return {
    pool,
    problem: () => problem,
    write: async ({ id, queue, outcome, body, finishedMs }) => {
      const insert = `insert into results (id, queue, outcome, body, finished_at)
        values ($1, $2, $3, $4, $5) on conflict (id) do nothing`;
      const values = [id, queue, outcome, body, new Date(finishedMs)];
      const { rowCount } = await pool.query(insert, values);
      return rowCount === 1;
    },
    find: async (id) => {
      const select = "select id, queue, outcome, body, finished_at from results where id = $1";
      const { rows } = await pool.query<Row>(select, [id]);
      const [row] = rows;
      if (row === undefined) return undefined;
      const { finished_at: finishedAt, ...rest } = row;
      return { ...rest, finishedMs: finishedAt.getTime() };
    },
    forget: async (beforeMs) => {
      const remove = "delete from results where finished_at < $1";
      const { rowCount } = await pool.query(remove, [new Date(beforeMs)]);
      return rowCount ?? 0;
    },
    stop: async () => {
      await probing.stop();
      await pool.end();
    },
  };
}

/** Two programs that create the same table at the same moment collide even with `if not exists`: a lock orders them. */
async function createTable(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock(7310)");
    await client.query(TABLE);
    await client.query("commit");
    client.release();
  } catch (error) {
    // Discards the connection with its transaction.
    client.release(true);
    throw error;
  }
}
