/** Jobs as the hub's API returns them. */
import type {
  GpuDayBook,
  JobHour,
  JobRecord,
  JobStretch,
} from "../../../../src/runs/jobs/record.ts";
import type { JobSummary } from "../../../../src/view/jobs/summary.ts";

export type { JobRecord, JobStretch, JobSummary };

export interface JobsResponse {
  readonly nowMs: number;
  /** Why a scheduler's data is incomplete, one sentence per problem. */
  readonly problems: readonly string[];
  readonly jobs: readonly JobSummary[];
  readonly total: number;
}

export interface JobResponse {
  readonly summary: JobSummary;
  readonly job: JobRecord;
  readonly hours: readonly JobHour[];
  readonly cost?: number;
  readonly currency?: string;
  readonly co2Grams?: number;
}

export type Book = GpuDayBook & { readonly errorRatio: number; readonly closed: boolean };

export interface BooksResponse {
  readonly books: readonly Book[];
}
