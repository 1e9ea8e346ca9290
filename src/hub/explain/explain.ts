/** Explains a GPU, host, job or alert from the history: reads the cells, finds the job's other GPUs, and adds the runbook's steps. */
import { runbookSection } from "../../alerting/pack/runbook.ts";
import type { ExplainedCause, Explanation } from "../../view/explain/explanation.ts";
import { explain } from "../../view/explain/explain.ts";
import type { GpuCells, GpuIdentity } from "../../view/explain/fleet-cells.ts";
import { findMates, readFleetCells, withPeers } from "./read.ts";
import type { ExplainContext, ResolvedSubject } from "./subject.ts";

export async function explainSubject(
  { history }: Pick<ExplainContext, "history">,
  { subject, gpus: asked, timeMs, asksIdle }: ResolvedSubject,
  signal?: AbortSignal,
): Promise<Explanation> {
  const all = await withPeers(history, timeMs, asked);
  const [own, others] = [all.slice(0, asked.length), all.slice(asked.length)];
  const mates =
    subject.kind === "host" ? [] : await findMates(history, own, others, timeMs, signal);
  const peers = others.filter((one) => !mates.includes(one));
  const plan = { explained: [...own, ...mates], peers };
  const fleet = await readFleetCells(history, plan, timeMs, signal);
  const cellsOf = (gpus: readonly GpuIdentity[]): GpuCells[] =>
    gpus.flatMap(({ uuid, host }) => fleet.find(uuid, host) ?? []);
  return explain({
    fleet,
    subject,
    gpus: cellsOf(own),
    mates: cellsOf(mates),
    asksIdle,
    runbookOf,
  });
}

/** The runbook's fix, as one line. */
function runbookOf(name: string): ExplainedCause["runbook"] {
  const text = runbookSection(name)?.text ?? "";
  const step = /\*\*Fix\.\*\*\s*([\s\S]*?)(?:\n\n|$)/.exec(text)?.[1] ?? "";
  const plain = step
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
  return { title: name, href: `/runbook/${name.toLowerCase()}`, step: plain };
}
