/** Shared building blocks of the dashboards: queries, variables and selections. */
import type { PromTarget, Variable } from "../shape.ts";

/** Grafana's window: at least four scrapes, so that a rate never has a single sample. */
export const window = "$__rate_interval";
export const gpuName = "{{host}} GPU {{gpu}}";

export const ask = (expr: string, legend: string, unit?: string): PromTarget => ({
  expr,
  legend,
  ...(unit !== undefined && { unit }),
});
export const limit = (expr: string, legend: string): PromTarget => ({ expr, legend, dashed: true });

/** Work per second and watt of each selected GPU, which equals work per joule. No real GPU counts its work. */
export const perWatt = (matchers: string): string =>
  `max by (host, gpu, uuid) (rate(gpu_work_units_total{${matchers}}[${window}])) / (max by (host, gpu, uuid) (gpu_power_watts{${matchers}}) > 0)`;
export const needsWork = "a counter of work: simulated GPUs under the load stress or work";

/** A quantile of a histogram, from its buckets' rates. */
export const quantile = (share: number, bucket: string, by: string, matchers = ""): string =>
  `histogram_quantile(${share}, sum by (${["le", ...(by === "" ? [] : [by])].join(", ")}) (rate(${bucket}${matchers}[${window}])))`;

export const all = (name: string, label: string, query: string, needs?: string): Variable => ({
  name,
  label,
  type: "query",
  query,
  takes: "all",
  ...(needs !== undefined && { needs }),
});

/** For dashboards that draw a line per GPU or disk: preselects the first host instead of thousands. */
export const some = (variable: Variable): Variable => ({ ...variable, takes: "some" });

export const hosts = all("host", "Host", "label_values(gpu_up, host)");
export const models = all("model", "Model", 'label_values(gpu_info{host=~"$host"}, model)');
export const gpus = all("gpu", "GPU", 'label_values(gpu_up{host=~"$host"}, gpu)');
