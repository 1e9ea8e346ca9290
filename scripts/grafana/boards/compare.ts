/** Two GPUs side by side over the same time, and their differences. */
import { gpu, type MetricEntry } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import type { Board, Panel, Variable } from "../shape.ts";
import { ask, limit, needsWork, perWatt } from "./ask.ts";

/** A variable that shows host and index and selects by uuid. */
const choice = (name: string, label: string): Variable => ({
  name,
  label,
  type: "query",
  query: 'query_result(label_join(gpu_info, "called", " GPU ", "host", "gpu"))',
  regex: '/called="(?<text>[^"]+)|uuid="(?<value>[^"]+)/g',
  takes: "one",
});

const both = 'uuid=~"$a|$b"';
const named = "{{host}} GPU {{gpu}}";

const beside = (entry: MetricEntry, more = "", legend = named): Panel =>
  metricPanel(entry, {
    kind: "timeseries",
    targets: [ask(`${entry.name}{${both}${more}}`, legend)],
    width: 12,
  });

/** The mean of the first GPU over the selected time less that of the second. */
const apart = (entry: MetricEntry, title: string, more = ""): Panel => {
  const mean = (of: string): string =>
    `avg(avg_over_time(${entry.name}{uuid="${of}"${more}}[$__range]))`;
  return {
    title,
    kind: "stat",
    unit: metricPanel(entry, { kind: "stat", targets: [], width: 1 }).unit,
    about: `${entry.help} The first GPU's mean less the second's: negative where the first has less.`,
    targets: [ask(`${mean("$a")} - ${mean("$b")}`, "first less second")],
    width: 6,
    height: 5,
  };
};

export const compare: Board = {
  uid: "gpulse-compare",
  title: "gpulse: comparison of two GPUs",
  about:
    "Choose two GPUs; both then have every panel to themselves. For measured runs with statistics use gpulse compare.",
  tags: ["gpu"],
  source: "prometheus",
  variables: [choice("a", "First"), choice("b", "Second")],
  rows: [
    {
      title: "What sets them apart",
      panels: [
        metricPanel(gpu.info, {
          title: "The two",
          todo: "Where simulated is true the numbers come from a model, not from hardware.",
          kind: "table",
          targets: [ask(`gpu_info{${both}}`, "present")],
          width: 24,
          height: 5,
        }),
        apart(gpu.utilization, "Difference in utilisation"),
        apart(gpu.temperature, "Difference in temperature", ',sensor="edge"'),
        apart(gpu.power, "Difference in power"),
        metricPanel(gpu.energyIntegrated, {
          title: "Energy in the chosen time",
          kind: "stat",
          targets: [ask(`increase(gpu_energy_integrated_joules_total{${both}}[$__range])`, named)],
          width: 6,
          height: 5,
        }),
        metricPanel(gpu.work, {
          title: "Work per joule in the chosen time",
          todo: "The same as performance per watt, over the whole time.",
          kind: "stat",
          targets: [
            ask(
              `max by (host, gpu, uuid) (increase(gpu_work_units_total{${both}}[$__range])) / (max by (host, gpu, uuid) (increase(gpu_energy_integrated_joules_total{${both}}[$__range])) > 0)`,
              named,
            ),
          ],
          decimals: 3,
          needs: needsWork,
          width: 24,
          height: 5,
        }),
      ],
    },
    {
      title: "Side by side",
      panels: [
        beside(gpu.utilization),
        metricPanel(gpu.temperature, {
          kind: "timeseries",
          todo: "Dashed is each one's own limit.",
          targets: [
            ask(`gpu_temperature_celsius{${both}}`, `${named} {{sensor}}`),
            limit(`gpu_temperature_limit_celsius{${both},limit="slowdown"}`, `${named} {{limit}}`),
          ],
          width: 12,
        }),
        metricPanel(gpu.power, {
          kind: "timeseries",
          targets: [
            ask(`gpu_power_watts{${both}}`, named),
            limit(`gpu_power_limit_watts{${both}}`, `${named} limit`),
          ],
          range: [0, undefined],
          width: 12,
        }),
        beside(gpu.clock, ',domain=~"graphics|memory"', `${named} {{domain}}`),
        beside(gpu.memoryUsed),
        metricPanel(gpu.work, {
          title: "Performance per watt",
          todo: "Work per second over watts: higher is better. For work of your own use gpulse compare with --work-query.",
          kind: "timeseries",
          targets: [ask(perWatt(both), named)],
          range: [0, undefined],
          decimals: 3,
          needs: needsWork,
          width: 12,
        }),
        {
          title: "Utilisation per 100 W",
          kind: "timeseries",
          unit: "percentunit",
          about:
            "Busy time bought with the same power. It says nothing of the work that was done: two models busy alike may be far apart.",
          targets: [ask(`100 * gpu_utilization_ratio{${both}} / gpu_power_watts{${both}}`, named)],
          width: 12,
        },
        metricPanel(gpu.throttleSeconds, {
          title: "Share of time held back",
          kind: "timeseries",
          rate: true,
          targets: [
            ask(
              `sum by (host, gpu, reason) (rate(gpu_throttle_seconds_total{${both}}[$__rate_interval]))`,
              `${named} {{reason}}`,
            ),
          ],
          range: [0, 1],
          width: 12,
        }),
      ],
    },
  ],
};
