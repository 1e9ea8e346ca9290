// Renders the chart's agents as plain manifests for kustomize. The chart stays the single source: a test compares both.
//   node scripts/run-ts.mjs deploy/kubernetes/render.ts

import { writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

import { renderChart } from "../../engines/helm.ts";

export const plainFile = fileURLToPath(new URL("./base/agent.yaml", import.meta.url));

/** Lines that only Helm's bookkeeping needs, and the names of templates that do not exist here. */
const HELM_ONLY = /^( *helm\.sh\/chart: .*| *app\.kubernetes\.io\/managed-by: .*|# Source: .*)\n/gm;

export async function plainManifests(): Promise<string> {
  const rendered = await renderChart({ release: "gpulse", namespace: "gpulse" });
  return `# Rendered from deploy/helm/gpulse with its own values by deploy/kubernetes/render.ts: change those.\n${rendered.replace(HELM_ONLY, "")}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  writeFileSync(plainFile, await plainManifests());
