// Every query of every dashboard, in Grafana's form, on a real Prometheus, on the hub and on InfluxDB. Metrics that only
// the demo application reports may be empty here; the stack's own test covers them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { startInfluxDb } from "../../engines/influxdb.ts";
import { EngineMissingError, orSkip } from "../../engines/cache.ts";
import { type PanelAnswer, runPanels } from "../../scripts/grafana/live.ts";
import { logStartMs, pipeLog, writeLog } from "./influxdb-lab.ts";
import { type GrafanaLab, startGrafanaLab } from "./grafana-lab.ts";

let lab: GrafanaLab;
let missing: string | undefined;

beforeAll(async () => {
  try {
    lab = await startGrafanaLab();
  } catch (error) {
    if (!(error instanceof EngineMissingError)) throw error;
    missing = error.message;
  }
});
afterAll(async () => {
  if (missing === undefined) await lab.stop();
});

const absentHere = /demonstration application/;

/** The comparison picks two GPUs by their order, which may have no work counter and never throttle, so its panels query every GPU. */
const ofEveryGpu = (answer: PanelAnswer): string | undefined =>
  answer.dashboard === "gpulse-compare"
    ? answer.expr.replaceAll(/uuid=~"[^"]*"/g, 'uuid=~".+"')
    : undefined;

async function countSeries(url: string, query: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query }).toString()}`);
  const { data } = (await response.json()) as { data: { result: unknown[] } };
  return data.result.length;
}
const named = ({ dashboard, panel, engine, expr, error }: PanelAnswer): string =>
  `${dashboard}, ${panel}, ${engine}: ${error ?? expr}`;

test("every panel whose metrics are here has data, from Prometheus and from the hub", async (context) => {
  if (missing !== undefined) context.skip(missing);
  const empty = async (): Promise<string[]> => {
    const { prometheusUrl, hubUrl } = lab;
    const answers = await runPanels({
      prometheusUrl,
      hubUrl,
      rangeSeconds: 120,
      rateIntervalSeconds: 20,
    });
    expect(answers.filter(({ error }) => error !== undefined).map(named)).toEqual([]);
    const left: PanelAnswer[] = [];
    for (const answer of answers) {
      if (answer.series > 0 || absentHere.test(answer.needs ?? "")) continue;
      const query = ofEveryGpu(answer);
      const url = answer.engine === "hub" ? hubUrl : prometheusUrl;
      if (query === undefined || (await countSeries(url, query)) === 0) left.push(answer);
    }
    return left.map(named);
  };
  // Series appear gradually: an XID error after ten simulated minutes, rates after two scrapes.
  await expect.poll(empty, { timeout: 100_000, interval: 2_000 }).toEqual([]);
});

test("every panel of a GPU-Z log has data from InfluxDB", async (context) => {
  const influx = await orSkip(context, startInfluxDb());
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-grafana-gpuz-"));
  try {
    const rows = 600;
    const log = path.join(folder, "GPU-Z Sensor Log.txt");
    await writeLog(log, rows);
    const to = `${influx.url.replace("http", "influxdb")}/gpu?create=true&preset=gpuz`;
    await pipeLog(log, to);
    const [startMs, endMs] = [logStartMs, logStartMs + rows * 1_000];
    const { url } = influx;
    const answers = await runPanels({ influx: { url, database: "gpu", startMs, endMs } });
    expect(answers.length).toBeGreaterThan(20);
    expect(answers.filter(({ series }) => series === 0).map(named)).toEqual([]);
  } finally {
    await influx.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
