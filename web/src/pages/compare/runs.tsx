/** Recorded runs side by side, selected by the address. */
import { gpuColour } from "../../chart/colour.ts";
import { Empty } from "../../ui/banner.tsx";
import { runsAddress, useComparison } from "./api.ts";
import { DifferenceTable } from "./difference-table.tsx";
import { RunCharts } from "./run-charts.tsx";
import { Reports, ComparisonText } from "./comparison-text.tsx";

export function Runs({ ids }: { ids: readonly string[] }) {
  const address = runsAddress(ids);
  const { value, error } = useComparison(address);
  if (error !== undefined)
    return <Empty title={`These runs cannot be compared: ${error.message}`} />;
  if (value === undefined) return <p class="unit">Reading the runs…</p>;
  const colours = value.subjects.map((_, at) => ({ colour: gpuColour(at) }));
  return (
    <>
      <ComparisonText comparison={value} />
      <Reports address={address} />
      <RunCharts comparison={value} colours={colours} />
      <DifferenceTable comparison={value} colours={colours} />
    </>
  );
}
