/** GPUs in query results: identity, order and owner. */
import { type Cell, name, word } from "./answer.ts";
import { type ToolSample, queryInstant } from "./hub-reader.ts";
import type { ToolContext } from "./tool.ts";

/** The label pair that identifies a GPU. */
export const idOf = ({ uuid = "", host = "" }: Readonly<Record<string, string>>): string =>
  JSON.stringify([host, uuid]);

/** By host, then by index. */
export function byPlace({ labels: a }: ToolSample, { labels: b }: ToolSample): number {
  return (
    (a["host"] ?? "").localeCompare(b["host"] ?? "") ||
    Number(a["gpu"] ?? 0) - Number(b["gpu"] ?? 0) ||
    (a["uuid"] ?? "").localeCompare(b["uuid"] ?? "")
  );
}

/** Shows the index as it is if it is a number; the label may contain any text. */
export const indexCell = (index: string | undefined): Cell =>
  index !== undefined && /^\d{1,4}$/.test(index) ? word(index) : name(index, 10);

/** The owner of each GPU: the pod, or the workload and user. */
export async function ownersBy(
  promql: string,
  { hub, nowMs }: ToolContext,
): Promise<ReadonlyMap<string, string>> {
  const owners = new Map<string, string>();
  for (const { labels } of await queryInstant(hub, promql, nowMs)) {
    const { namespace, pod, workload, user } = labels;
    const parts = pod === undefined ? [workload, user] : [`${namespace ?? ""}/${pod}`, user];
    const owner = parts.filter((part) => part !== undefined && part !== "").join(" ");
    const before = owners.get(idOf(labels));
    owners.set(idOf(labels), before === undefined ? owner : `${before}, ${owner}`);
  }
  return owners;
}
