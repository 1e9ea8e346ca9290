/** Runs the tools and parses their output: amd-smi if it is installed, otherwise rocm-smi. */
import { failed, present, type ReadResult } from "../../../machine/sysfs/read-result.ts";
import { parseAmdSmiMetric, parseAmdSmiStatic } from "./amd-smi.ts";
import { parseRocmSmi } from "./rocm-smi.ts";
import type { ToolRunner } from "./run.ts";
import { plausibleValues, type ToolCard } from "./tool-card.ts";

/** Only options that display; none that set or reset. */
const rocmArguments =
  "-i -v -t -f -c -g -u -P -M --showbus --showuniqueid --showproductname --showdriverversion --showmemuse --showmeminfo all --showvoltage --showreplaycount --json".split(
    " ",
  );

/** Reads the cards' identity and limits. */
export async function readStatic(
  runner: ToolRunner,
  timeMs: number,
): Promise<ReadResult<readonly ToolCard[]>> {
  const output = await runner.run(timeMs, "amd-smi", ["static", "--json"]);
  return output.ok ? parseAmdSmiStatic(output.value) : output;
}

/** All values of the tools. `known`: the cards of an earlier amd-smi run, since its metric output does not identify them. */
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

/** For values in both outputs the newer one is used. */
function merge(identity: readonly ToolCard[], metric: readonly ToolCard[]): readonly ToolCard[] {
  return metric.map((card) => {
    const named = identity.find(({ number }) => number === card.number);
    const reported = new Set(card.values.map(valueKey));
    const limits = named?.values.filter((value) => !reported.has(valueKey(value))) ?? [];
    return { ...named, ...card, values: plausibleValues([...card.values, ...limits]) };
  });
}

export function valueKey({ metric, labels }: Omit<ToolCard["values"][number], "value">): string {
  return `${metric} ${Object.values(labels ?? {}).join(" ")}`;
}
