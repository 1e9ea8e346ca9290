/** Reads a page of metrics, Prometheus text format 0.0.4 or OpenMetrics 1.0, in one pass over its bytes. */
import type { SeriesMemory } from "./series-memory.ts";
import type { ExpositionFormat, PageCounts, PageVisitor } from "./visit.ts";

/** @throws ExpositionError with the line and what is wrong there; what the visitor was told until then is to be dropped. */
export function parsePage<Handle>(
  _body: Buffer,
  _format: ExpositionFormat,
  _memory: SeriesMemory<Handle>,
  _visitor: PageVisitor<Handle>,
): PageCounts {
  return { samples: 0, opened: 0, exemplars: 0 };
}

/** The format a Content-Type header names; undefined where it names none we read. */
export function formatOf(contentType: string | undefined): ExpositionFormat | undefined {
  return contentType === undefined ? undefined : "text";
}
