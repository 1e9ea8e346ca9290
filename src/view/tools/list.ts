/** All tools, in list order. Adding a tool takes one line. */
import { listAlerts, listEvents, runbook } from "./alerts.ts";
import { currentState } from "./current-state.ts";
import { explain } from "./explain.ts";
import { find } from "./find.ts";
import { gpuHealth } from "./health.ts";
import { billJobs, listJobs, showJob } from "./jobs.ts";
import { findMetrics, queryPromql } from "./metrics.ts";
import { compareSubjects, listRuns } from "./runs.ts";
import type { Tool } from "./tool.ts";

export const tools: readonly Tool[] = [
  find,
  currentState,
  explain,
  gpuHealth,
  listAlerts,
  listEvents,
  runbook,
  queryPromql,
  findMetrics,
  listJobs,
  showJob,
  billJobs,
  listRuns,
  compareSubjects,
];

export const findTool = (name: string): Tool | undefined =>
  tools.find((tool) => tool.name === name);
