/**
 * Parses `rocm-smi … --json`, ROCm 4 to 7: `{"card0": {"GPU use (%)": "3", …}, "system": {…}}`, every value a string. Key names
 * differ in case, colons and wording between versions, so they are compared in lower case without colons. Pure.
 */
import { pcieGeneration } from "../../../machine/sysfs/pci.ts";
import { failed, present, type ReadResult } from "../../../machine/sysfs/read-result.ts";
import {
  findJson,
  isRecord,
  isSentinel,
  plausibleValues,
  tidyName,
  type ToolCard,
  type ToolValue,
} from "./tool-card.ts";

type Row = readonly [
  keys: readonly string[],
  metric: ToolValue["metric"],
  factor: number,
  labels?: ToolValue["labels"],
];

/** For each reading its keys in all versions, newest first. */
const rows: readonly Row[] = [
  [["gpu use (%)"], "utilization", 0.01],
  [
    ["gpu memory read/write activity (%)", "gpu memory use (%)"],
    "memoryControllerUtilization",
    0.01,
  ],
  [["average graphics package power (w)", "current socket graphics package power (w)"], "power", 1],
  [["max graphics package power (w)"], "powerLimit", 1],
  [["temperature (sensor edge) (c)"], "temperature", 1, { sensor: "edge" }],
  [["temperature (sensor junction) (c)"], "temperature", 1, { sensor: "hotspot" }],
  [
    ["temperature (sensor memory) (c)", "temperature (sensor mem) (c)"],
    "temperature",
    1,
    { sensor: "memory" },
  ],
  [["vram total memory (b)"], "memoryTotal", 1],
  [["vram total used memory (b)"], "memoryUsed", 1],
  [["vis_vram total memory (b)"], "visibleMemoryTotal", 1],
  [["vis_vram total used memory (b)"], "visibleMemoryUsed", 1],
  [["gtt total memory (b)"], "sharedMemoryTotal", 1],
  [["gtt total used memory (b)"], "sharedMemoryUsed", 1],
  [["sclk clock speed"], "clock", 1e6, { domain: "graphics" }],
  [["mclk clock speed"], "clock", 1e6, { domain: "memory" }],
  [["socclk clock speed"], "clock", 1e6, { domain: "soc" }],
  [["fclk clock speed"], "clock", 1e6, { domain: "fabric" }],
  [["fan speed (%)"], "fanSpeed", 0.01, { fan: "1" }],
  [["fan rpm"], "fanRpm", 1, { fan: "1" }],
  [["voltage (mv)"], "voltage", 0.001, { rail: "gfx" }],
  [["pcie replay count"], "pcieReplays", 1],
];

export function parseRocmSmi(output: string): ReadResult<readonly ToolCard[]> {
  const json = findJson(output);
  if (!json.ok) return json;
  if (!isRecord(json.value)) return failed;
  const system = factsOf(json.value["system"]);
  const driver = system.get("driver version");
  const cards = Object.entries(json.value).flatMap(([name, entry]) => {
    const number = /^card(\d{1,4})$/.exec(name)?.[1];
    return number === undefined || !isRecord(entry)
      ? []
      : [parseCard(Number(number), factsOf(entry), driver)];
  });
  return cards.length === 0 ? failed : present(cards);
}

function parseCard(
  number: number,
  facts: ReadonlyMap<string, string>,
  driver: string | undefined,
): ToolCard {
  const bus = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i.exec(
    facts.get("pci bus") ?? "",
  )?.[0];
  const deviceId = /^0x([0-9a-f]{4})$/i.exec(
    facts.get("gpu id") ?? facts.get("device id") ?? "",
  )?.[1];
  const uniqueId = /^0x[0-9a-f]{1,16}$/i.exec(facts.get("unique id") ?? "")?.[0];
  // ROCm 4.3 prints 0x1002 for series, model and vendor.
  const model = tidyName(facts.get("card series") ?? facts.get("device name") ?? "");
  const vbios = facts.get("vbios version");
  return {
    number,
    values: [...valuesOf(facts), ...linkOf(facts.get("pcie clock level") ?? "")],
    pciBusId: bus?.toLowerCase(),
    deviceId: deviceId === undefined ? undefined : Number.parseInt(deviceId, 16),
    uniqueId,
    model,
    vbios,
    driver,
  };
}

/** Missing values are left out: "N/A", "N/A (Secondary die)", "unknown". For a duplicate key the first value is used. */
function factsOf(entry: unknown): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const [key, value] of isRecord(entry) ? Object.entries(entry) : []) {
    if (typeof value !== "string" && typeof value !== "number") continue;
    const text = String(value).trim();
    const name = key.toLowerCase().replaceAll(":", "").replace(/\s+/g, " ").trim();
    if (text === "" || /^(?:N\/A|None|unknown)\b/i.test(text) || facts.has(name)) continue;
    facts.set(name, text);
  }
  return facts;
}

function valuesOf(facts: ReadonlyMap<string, string>): readonly ToolValue[] {
  const values = rows.flatMap(([keys, metric, factor, labels]): ToolValue[] => {
    const raw = keys.map((key) => numberIn(facts.get(key))).find((number) => number !== undefined);
    if (raw === undefined) return [];
    const value = factor < 1 ? raw / Math.round(1 / factor) : raw * factor;
    // Nothing runs below 100 mV: an RX 6700 XT reports 6.
    if (metric === "voltage" && value < 0.1) return [];
    return [{ metric, value, labels }];
  });
  return plausibleValues(values);
}

/** `39.0`, or a clock as `(500Mhz)`. */
function numberIn(text: string | undefined): number | undefined {
  const match = /^\(?(-?\d{1,20}(?:\.\d{1,6})?)(?:Mhz)?\)?$/i.exec(text ?? "");
  const value = Number(match?.[1] ?? Number.NaN);
  return isSentinel(value) ? undefined : value;
}

/** `1 (16.0GT/s x16)`. */
function linkOf(text: string): readonly ToolValue[] {
  const match = /^\d{1,2} \((\d{1,2}(?:\.\d)?)GT\/s x(\d{1,2})\)$/.exec(text);
  const generation = pcieGeneration(Number(match?.[1]));
  if (match === null || !generation.ok) return [];
  return [
    { metric: "pcieLinkGeneration", value: generation.value },
    { metric: "pcieLinkWidth", value: Number(match[2]) },
  ];
}
