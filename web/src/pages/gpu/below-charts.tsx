/** What the GPU page shows below its charts: states, readings, histograms, jobs, identity. Loaded after the first charts. */
import type { Gpu } from "../../../../src/view/gpu.ts";
import { Dictionary } from "./dictionary.tsx";
import { Histograms } from "./histograms.tsx";
import { Identity } from "./identity.tsx";
import { ReadingsTable } from "./readings-table.tsx";
import type { SeriesStatistics } from "./series-statistics.ts";
import { Timelines } from "./timelines.tsx";
import { Work } from "./work.tsx";

export interface BelowChartsProps {
  readonly gpu: Gpu;
  /** Matchers of the GPU. */
  readonly who: string;
  /** The GPU's metrics; undefined if they are not known, or none in this range. */
  readonly reported: ReadonlySet<string> | undefined;
  readonly found: SeriesStatistics;
  /** False while the metrics load: what is drawn above the identity would move it. */
  readonly isSettled: boolean;
}

export function BelowCharts({ gpu, who, reported, found, isSettled }: BelowChartsProps) {
  return (
    <>
      {reported !== undefined && (
        <>
          <Timelines who={who} />
          <ReadingsTable {...{ gpu, reported, found }} />
          <Histograms who={who} />
          <Work device={gpu.device} {...{ who, reported }} />
        </>
      )}
      {isSettled && <Identity gpu={gpu} />}
      <Dictionary />
    </>
  );
}
