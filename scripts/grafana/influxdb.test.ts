import { expect, test } from "vitest";
import { aliases } from "../../src/model/aliases.ts";
import { dashboardFile, panels } from "./influxdb.ts";

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly w: number };
    /** A row has no targets. */
    readonly targets?: readonly { readonly refId: string; readonly query: string }[];
  }[];
}

const read = (language: "influxql" | "flux") => {
  const { panels: all } = JSON.parse(dashboardFile(language)) as Dashboard;
  return { panels: all.map(({ targets = [], ...panel }) => ({ ...panel, targets })) };
};

test("every field that is asked for is one the preset gpuz writes", () => {
  const written = new Set([...aliases.map(({ name }) => name), "tags", "anomalies"]);
  const asked = panels.flatMap(({ fields }) => Object.values(fields));
  expect(asked.filter((field) => !written.has(field))).toEqual([]);
});

test("both languages have the same panels, none wider than the page, each query with a letter of its own", () => {
  const [influxQl, flux] = [read("influxql"), read("flux")];
  expect(flux.panels.map(({ title }) => title)).toEqual(influxQl.panels.map(({ title }) => title));
  for (const { gridPos, targets } of [...influxQl.panels, ...flux.panels]) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
  }
});

/**
 * Checks for a source followed by pipes into calls with every bracket and quote closed: all that can be verified without a Flux
 * server.
 */
test("every Flux query is a source and pipes of whole calls", () => {
  for (const { query } of read("flux").panels.flatMap(({ targets }) => targets)) {
    const [source, ...pipes] = query.split("\n");
    expect(source).toBe('from(bucket: "${bucket}")');
    expect(pipes.length).toBeGreaterThanOrEqual(4);
    for (const pipe of pipes) {
      expect(pipe).toMatch(/^ {2}\|> (range|filter|aggregateWindow|last|count)\(.*\)$/);
      expect(pipe.split("(").length).toBe(pipe.split(")").length);
      expect(pipe.split('"').length % 2).toBe(1);
    }
    expect(query).toContain('r._measurement == "gpu_metrics"');
  }
});
