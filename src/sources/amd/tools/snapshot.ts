/** Asks the tools and keeps what they said: amd-smi where it is installed, rocm-smi where it is not. */
import { failed, present, type ReadResult } from "../../../machine/sysfs/read-result.ts";
import { parseAmdSmiMetric, parseAmdSmiStatic } from "./amd-smi.ts";
import { parseRocmSmi } from "./rocm-smi.ts";
import type { ToolRunner } from "./run.ts";
import { plausibleValues, type ToolCard } from "./tool-card.ts";

/** Only what shows; nothing that sets or resets. */
const rocmArguments =
  "-i -v -t -f -c -g -u -P -M --showbus --showuniqueid --showproductname --showdriverversion --showmemuse --showmeminfo all --showvoltage --showreplaycount --json".split(
    " ",
  );

/** Identity and limits. */
export async function readStatic(
  runner: ToolRunner,
  timeMs: number,
): Promise<ReadResult<readonly ToolCard[]>> {
  const output = await runner.run(timeMs, "amd-smi", ["static", "--json"]);
  return output.ok ? parseAmdSmiStatic(output.value) : output;
}

/** Everything the tools tell. `known` is what amd-smi said of the cards before, since its metric page does not name them. */
export async function readAllCards(
  runner: ToolRunner,
  rocmRunner: ToolRunner,
  timeMs: number,
  known: readonly ToolCard[],
): Promise<ReadResult<readonly ToolCard[]>> {
  const identity = known.length > 0 ? present(known) : await readStatic(runner, timeMs);
  if (identity.ok && identity.value.length > 0) {
    const output = await runner.run(timeMs, "amd-smi", ["metric", "--json"]);
    const metric = output.ok ? parseAmdSmiMetric(output.value) : output;
    return metric.ok ? present(merge(identity.value, metric.value)) : metric;
  }
  const output = await rocmRunner.run(timeMs, "rocm-smi", rocmArguments);
  if (!output.ok) return identity.ok ? failed : output;
  return parseRocmSmi(output.value);
}

/** What both tell is taken from the newer page. */
function merge(identity: readonly ToolCard[], metric: readonly ToolCard[]): readonly ToolCard[] {
  return metric.map((card) => {
    const named = identity.find(({ number }) => number === card.number);
    const told = new Set(card.values.map(valueKey));
    const limits = named?.values.filter((value) => !told.has(valueKey(value))) ?? [];
    return { ...named, ...card, values: plausibleValues([...card.values, ...limits]) };
  });
}

export function valueKey({ metric, labels }: Omit<ToolCard["values"][number], "value">): string {
  return `${metric} ${Object.values(labels ?? {}).join(" ")}`;
}
