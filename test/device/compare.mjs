// Holds one page of ours against one answer of nvidia-smi read in the same second. Pure: texts in, findings out.

import { comparisons, sums } from "./comparisons.mjs";
import { parsePage, valueOf } from "./exposition.mjs";

/** @typedef {{ what: string, ours: number | string | undefined, theirs: number | string | undefined, bound: string, ok: boolean }} Finding */

/** The text of the first element along the path, of elements that hold nothing else. */
export function textAt(/** @type {string} */ xml, /** @type {string} */ path) {
  let inner = xml;
  for (const tag of path.split("/")) {
    const match = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(inner);
    if (match === null) return undefined;
    inner = match[1] ?? "";
  }
  return inner.trim();
}

/** Each GPU's part of the answer. */
export function gpusOf(/** @type {string} */ xml) {
  return [...xml.matchAll(/<gpu id="[^"]*">([\s\S]*?)<\/gpu>/g)].map((match) =>
    // A MIG instance has elements of the same names; the GPU's own are what is asked for.
    (match[1] ?? "").replace(/<mig_devices>[\s\S]*?<\/mig_devices>/, ""),
  );
}

const shown = (
  /** @type {{ name: string, labels?: Record<string, string> }} */ { name, labels = {} },
) => {
  const inside = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return inside.length === 0 ? name : `${name}{${inside.join(",")}}`;
};

function theirNumber(/** @type {string | undefined} */ text, /** @type {boolean} */ isWord) {
  if (text === undefined || /^(N\/A|Requested functionality.*)$/.test(text)) return undefined;
  if (isWord) return /^(Active|Enabled|Yes)$/.test(text) ? 1 : 0;
  const match = /-?\d+(\.\d+)?/.exec(text);
  return match === null ? undefined : Number(match[0]);
}

/**
 * Compares a GPU. `pages` are ours of the same second, while nvidia-smi ran and just around it: a clock or a power that moves
 * within the second was anywhere between the readings.
 * @param {readonly string[]} pages
 * @param {string} gpu
 * @returns {Finding[]}
 */
export function compareGpu(pages, gpu) {
  const uuid = textAt(gpu, "uuid") ?? "";
  const parsed = pages.map((page) =>
    parsePage(page).filter(({ labels }) => labels["uuid"] === uuid),
  );
  const ours = (/** @type {string} */ name, /** @type {Record<string, string>} */ labels = {}) =>
    parsed.map((page) => valueOf(page, name, labels));
  /** @type {Finding[]} */
  const findings = [];
  for (const comparison of comparisons) {
    const { name, labels, path, scale = 1, within = 0, share = 0, as } = comparison;
    const told = theirNumber(textAt(gpu, path), as === "yes");
    const theirs = told === undefined ? undefined : told * scale;
    const values = ours(name, labels);
    const slack = Math.max(within, share * Math.abs(theirs ?? 0)) + 1e-9 * Math.abs(theirs ?? 0);
    const [low, high] = [Math.min(...values.map(Number)), Math.max(...values.map(Number))];
    const ok =
      theirs === undefined
        ? values.every((value) => value === undefined)
        : values.every((value) => value !== undefined) &&
          theirs >= low - slack &&
          theirs <= high + slack;
    const bound = share > 0 ? `±${share * 100} %` : within > 0 ? `±${within}` : "equal";
    findings.push({
      what: shown(comparison),
      ours: values[0],
      theirs,
      bound: theirs === undefined ? "both absent" : bound,
      ok,
    });
  }
  for (const { name, labels, paths } of sums) {
    const parts = paths
      .map((path) => theirNumber(textAt(gpu, path), false))
      .filter((part) => part !== undefined);
    const theirs = parts.length === 0 ? undefined : parts.reduce((sum, part) => sum + part, 0);
    const [first] = ours(name, labels);
    findings.push({
      what: shown({ name, labels }),
      ours: first,
      theirs,
      bound: "equal",
      ok: first === theirs,
    });
  }
  return [
    ...findings,
    ...processFindings(parsed.at(-1) ?? [], gpu),
    ...identityFindings(parsed.at(-1) ?? [], gpu),
  ];
}

/**
 * The slowdown limit is nvidia-smi's where it prints one in °C. On Hopper it prints only margins, while NVML still reports the
 * threshold: then ours must be the same in every look, since a limit that moves with the load is no limit.
 */
export function limitFinding(/** @type {readonly string[]} */ pages, /** @type {string} */ gpu) {
  const theirs = theirNumber(textAt(gpu, "temperature/gpu_temp_slow_threshold"), false);
  const limits = pages.map((text) =>
    valueOf(
      parsePage(text).filter(({ labels }) => labels["uuid"] === textAt(gpu, "uuid")),
      "gpu_temperature_limit_celsius",
      { limit: "slowdown" },
    ),
  );
  const ours = limits.at(-1);
  return {
    what: 'gpu_temperature_limit_celsius{limit="slowdown"}',
    ours,
    theirs,
    bound: theirs === undefined ? "the same in every reading" : "equal",
    ok: theirs === undefined ? limits.every((limit) => limit === ours) : ours === theirs,
  };
}

function processFindings(
  /** @type {ReturnType<typeof parsePage>} */ page,
  /** @type {string} */ gpu,
) {
  const theirs = [...gpu.matchAll(/<process_info>([\s\S]*?)<\/process_info>/g)]
    .map(
      (match) =>
        `${textAt(match[1] ?? "", "pid")}:${Math.round(theirNumber(textAt(match[1] ?? "", "used_memory"), false) ?? -1)}`,
    )
    .sort();
  const ours = page
    .filter(({ name }) => name === "gpu_process_memory_bytes")
    .map(({ labels, value }) => `${labels["pid"]}:${Math.round(value / 1_048_576)}`)
    .sort();
  return [
    {
      what: "processes as pid:MiB",
      ours: ours.join(" ") || "none",
      theirs: theirs.join(" ") || "none",
      bound: "equal",
      ok: ours.join() === theirs.join(),
    },
    {
      what: "gpu_processes",
      ours: valueOf(page, "gpu_processes"),
      theirs: theirs.length,
      bound: "equal",
      ok: valueOf(page, "gpu_processes") === theirs.length,
    },
  ];
}

function identityFindings(
  /** @type {ReturnType<typeof parsePage>} */ page,
  /** @type {string} */ gpu,
) {
  const info = page.find(({ name }) => name === "gpu_info")?.labels ?? {};
  const pci = (textAt(gpu, "pci/pci_bus_id") ?? "")
    .toLowerCase()
    .replace(/^0000(?=[0-9a-f]{4}:)/, "");
  return [
    ["model", textAt(gpu, "product_name")],
    ["vbios", textAt(gpu, "vbios_version")],
    ["pci_bus_id", pci],
  ].map(([label = "", theirs]) => ({
    what: `gpu_info ${label}`,
    ours: info[label],
    theirs,
    bound: "equal",
    ok: info[label] === theirs,
  }));
}
