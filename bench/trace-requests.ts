/** The recorded trace of a real H200 as remote-write requests. */
import { labelSet } from "../src/model/labels.ts";
import { WriteRequests } from "./remote-write.ts";
import { traceColumns } from "./store-data.ts";

export function traceRequests(): { readonly samples: number; readonly bodies: readonly Buffer[] } {
  const columns = traceColumns();
  const requests = new WriteRequests(
    columns.map(({ name }) => labelSet({ __name__: name, uuid: "GPU-0", job: "trace" })),
  );
  const samples = columns.reduce((sum, { times }) => sum + times.length, 0);
  const rows = Math.max(...columns.map(({ times }) => times.length));
  const bodies: Buffer[] = [];
  columns.forEach(({ times, values }, column) => {
    for (let from = 0; from < rows; from += 1_000) {
      const part = [...times.subarray(from, from + 1_000)];
      if (part.length > 0)
        bodies.push(requests.encode(column, column + 1, part, (_, i) => values[from + i] ?? 0));
    }
  });
  return { samples, bodies };
}
