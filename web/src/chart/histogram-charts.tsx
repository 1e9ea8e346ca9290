/** Native histograms of a query: a heatmap over time and quantile lines, with their exemplars as dots. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { differingLabelNames, labelText } from "../query/label-text.ts";
import { HeatmapFigure } from "./heatmap-figure.tsx";
import type { ColourFamily } from "./model.ts";
import { QueryChart } from "./query-chart.tsx";

const quantiles = [0.5, 0.9, 0.99] as const;

export interface HistogramChartsProps {
  readonly title: string;
  readonly query: string;
  readonly unit: Unit;
  readonly family: ColourFamily;
}

export function HistogramCharts({ title, query, unit, family }: HistogramChartsProps) {
  return (
    <>
      <HeatmapFigure {...{ title, query, unit, family }} />
      <QueryChart
        title={`Quantiles of ${title}`}
        unit={unit}
        family={family}
        colourBy="line"
        queries={quantiles.map((quantile) => ({
          query: `histogram_quantile(${quantile}, ${query})`,
          label: (labels, all) => {
            const name = labelText(labels, differingLabelNames(all));
            return `p${quantile * 100}${all.length > 1 ? ` ${name}` : ""}`;
          },
        }))}
        exemplarsOf={query}
      />
    </>
  );
}
