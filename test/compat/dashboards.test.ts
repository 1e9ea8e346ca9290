// Dashboards made for other exporters find their series on our page when their names are asked for, and only then.

import { beforeAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { Collector } from "../../src/agent/collector.ts";
import { everything, h200, inputOf, mi250, mi300, radeon } from "../fixtures/formats/compat.ts";
import { type CompatName, compatNames, compatTables } from "../../src/formats/compat/tables.ts";
import { silentLog } from "../../src/base/log.ts";
import { FakeClock } from "../fixtures/fake-clock.ts";
import { type OpenSource, openSources } from "../../src/sources/open.ts";
import type { Device } from "../../src/model/device.ts";
import { queries } from "./dashboards.ts";
import { finds, type PageSample, parsePage, selectorsOf } from "./selectors.ts";

const startMs = Date.UTC(2026, 0, 1);
const fleet = ["sim:?scenario=mixed", "sim:8?scenario=faults&speed=64&seed=2"];

async function simulated(clock: FakeClock): Promise<OpenSource[]> {
  return openSources(fleet, {
    host: "node-1",
    log: silentLog,
    nowMs: () => clock.nowMs(),
    sysfs: "/sys",
    procfs: "/proc",
  });
}

/** A card whose driver reports everything there is. */
function complete(device: Device): OpenSource {
  return {
    name: device.uuid,
    source: {
      shape: "polled",
      tiers: ["fast"],
      devices: () => [device],
      read: (_tier, timeMs) => inputOf(device, everything(1), timeMs).frame,
      close: () => {},
    },
  };
}

async function pageOf(
  sources: (clock: FakeClock) => OpenSource[] | Promise<OpenSource[]>,
  compat: readonly CompatName[],
  accept?: string,
): Promise<string> {
  const clock = new FakeClock(startMs);
  const collector = new Collector({
    sources: await sources(clock),
    compat,
    intervalMs: 1_000,
    hostName: "node-1",
    procfs: "/proc",
    version: "1.2.3",
    clock,
    log: silentLog,
  });
  collector.start();
  // Ten virtual minutes bring the first XID, fourteen take a GPU away: the slow read at 10 s sees the first and not the second.
  await clock.advance(12_000);
  const { body } = collector.page(accept);
  await collector.stop();
  return String(body);
}

const realCards = (): OpenSource[] => [h200, mi300, mi250, radeon].map(complete);

let simulatedPage: string;
let completePage: string;

beforeAll(async () => {
  simulatedPage = await pageOf(simulated, compatNames);
  completePage = await pageOf(realCards, compatNames);
});

const missing = (expression: string, page: readonly PageSample[]): unknown[] =>
  selectorsOf(expression).filter((selector) => !finds(selector, page));

test.for(queries.filter((query) => query.simulated))(
  "a simulated fleet has the series of: $asks",
  ({ expression }) => {
    expect(selectorsOf(expression).length).toBeGreaterThan(0);
    expect(missing(expression, parsePage(simulatedPage))).toEqual([]);
  },
);

test.for(queries.filter((query) => !query.simulated))(
  "a driver that reports it has the series of: $asks",
  ({ expression }) => {
    expect(missing(expression, parsePage(completePage))).toEqual([]);
  },
);

test("without the flag none of it is there", async () => {
  const plain = new Set(parsePage(await pageOf(simulated, [])).map(({ name }) => name));
  const theirs = compatNames.flatMap((name) => compatTables[name].rows.map((row) => row.name));
  expect(plain.has("gpu_power_watts")).toBe(true);
  expect(theirs.filter((name) => plain.has(name))).toEqual([]);
});

test("only what was asked for is there", async () => {
  const page = await pageOf(simulated, ["nvidia-smi"]);
  expect(page).toContain("nvidia_smi_power_draw_watts{");
  expect(page).not.toMatch(/^(DCGM_|dcgm_|gpu_package_power)/m);
});

test("both names carry the same reading", () => {
  const page = parsePage(simulatedPage);
  const of = (name: string): PageSample[] => page.filter((sample) => sample.name === name);
  const watts = new Map(of("gpu_power_watts").map((one) => [one.labels.get("uuid"), one.value]));
  const theirs = of("DCGM_FI_DEV_POWER_USAGE");
  expect(theirs).toHaveLength(11);
  for (const { labels, value } of theirs) expect(value).toBe(watts.get(labels.get("UUID")));
  expect(theirs.filter(({ labels }) => labels.get("simulated") !== "true")).toEqual([]);
});

/** promtool says a parse error as one, and exits 1; what it merely dislikes about names it calls lint, and exits 3. */
test.for([
  ["simulated", () => simulatedPage],
  ["complete", () => completePage],
] as const)("promtool can read the %s page; their naming is theirs", async ([, page], context) => {
  const promtool = toolOrSkip(context, "promtool");
  const { code, stderr } = await runProcess(promtool, ["check", "metrics"], { input: page() });
  expect(stderr).not.toMatch(/error while linting|parse/i);
  expect(code).toBe(3);
});

test("OpenMetrics: a counter whose name lacks _total is of unknown type, which may be any name", async () => {
  const page = await pageOf(realCards, compatNames, "application/openmetrics-text;version=1.0.0");
  expect(page).toContain("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION unknown\n");
  expect(page).toContain("# TYPE nvidia_smi_energy_joules counter\n");
  expect(page).toMatch(/^nvidia_smi_energy_joules_total\{.*\} 1$/m);
});
