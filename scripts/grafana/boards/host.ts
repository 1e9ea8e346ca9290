/** The machines and their containers: first gpulse's own metrics, beside them those of node exporter and cAdvisor. */
import { host } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, type Panel, rising } from "../shape.ts";
import { ask, all, some, window } from "./ask.ts";

const at = '{host=~"$host"}';
const node = '{instance=~"$node"}';
const named = '{name=~"$container",name!=""}';
const cadvisor = "cAdvisor";
const containers = "containers or jobs in cgroups of their own";

/** Panels of node exporter's or cAdvisor's metrics, for installations that have them. */
const others = (panel: Omit<Panel, "kind" | "width"> & Partial<Panel>): Panel => ({
  kind: "timeseries",
  range: [0, undefined],
  width: 8,
  ...panel,
});

const ownContainer = (metric: string, more = ""): string =>
  `topk(20, sum by (host, container, container_name, pod${more}) (rate(${metric}${at}[${window}])))`;
const container = "{{host}} {{pod}} {{container_name}} {{container}}";

export const hostAndContainers: Board = {
  uid: "gpulse-host",
  title: "gpulse: host and containers",
  about: "Processors, memory, disks, network and containers of the machines that the GPUs are in.",
  tags: ["host"],
  source: "prometheus",
  variables: [
    some(all("host", "Host", "label_values(host_load1, host)")),
    some(all("node", "Node exporter", "label_values(node_uname_info, instance)", "node exporter")),
    all(
      "container",
      "Container (cAdvisor)",
      'label_values(container_last_seen{name!=""}, name)',
      cadvisor,
    ),
  ],
  rows: [
    {
      title: "Host",
      panels: [
        metricPanel(host.cpuSeconds, {
          title: "CPU",
          todo: "Share of all processors. Full while GPUs idle: the input pipeline holds them up.",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              `sum by (host, mode) (rate(host_cpu_seconds_total{host=~"$host",mode!="idle"}[${window}])) / on (host) group_left () max by (host) (host_cpu_threads${at})`,
              "{{host}} {{mode}}",
            ),
          ],
          stacked: true,
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.load1, {
          title: "Load",
          todo: "Dashed is the number of hardware threads.",
          kind: "timeseries",
          targets: [
            ask(`host_load1${at}`, "{{host}} 1 min"),
            ask(`host_load15${at}`, "{{host}} 15 min"),
            { ...ask(`host_cpu_threads${at}`, "{{host}} threads"), dashed: true },
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.memoryUsed, {
          title: "System memory",
          todo: "Dashed is all there is.",
          kind: "timeseries",
          targets: [
            ask(`host_memory_used_bytes${at}`, "{{host}} used"),
            ask(`host_swap_used_bytes${at}`, "{{host}} swap"),
            { ...ask(`host_memory_total_bytes${at}`, "{{host}} total"), dashed: true },
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.diskBytes, {
          title: "Disk I/O",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(`rate(host_disk_bytes_total${at}[${window}])`, "{{host}} {{disk}} {{action}}"),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.diskBusySeconds, {
          title: "Disks busy",
          rate: true,
          kind: "timeseries",
          targets: [ask(`rate(host_disk_busy_seconds_total${at}[${window}])`, "{{host}} {{disk}}")],
          range: [0, 1],
          width: 8,
        }),
        metricPanel(host.filesystemAvailable, {
          title: "Storage used",
          todo: "Above 90 %: make room before programs fail to write.",
          kind: "bargauge",
          targets: [
            ask(
              `topk(20, 1 - host_filesystem_available_bytes${at} / host_filesystem_size_bytes${at})`,
              "{{host}} {{mountpoint}}",
              "percentunit",
            ),
          ],
          range: [0, 1],
          steps: rising(0.8, 0.9),
          width: 8,
        }),
        metricPanel(host.networkBytes, {
          title: "Network throughput",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              `rate(host_network_bytes_total${at}[${window}])`,
              "{{host}} {{interface}} {{direction}}",
            ),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.networkErrors, {
          title: "Network errors and drops",
          todo: "More than none for long: cable, port or driver; drops: a buffer too small.",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              `rate(host_network_errors_total${at}[${window}])`,
              "{{host}} {{interface}} {{direction}} errors",
            ),
            ask(
              `rate(host_network_drops_total${at}[${window}])`,
              "{{host}} {{interface}} {{direction}} drops",
            ),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.pressureWaiting, {
          title: "Time spent waiting, by resource",
          todo: "Which resource is short.",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              `rate(host_pressure_waiting_seconds_total${at}[${window}])`,
              "{{host}} {{resource}}",
            ),
          ],
          range: [0, undefined],
          width: 8,
        }),
        metricPanel(host.cpuTemperature, {
          title: "CPU temperature",
          kind: "timeseries",
          targets: [
            ask(`max by (host, sensor) (host_cpu_temperature_celsius${at})`, "{{host}} {{sensor}}"),
          ],
          steps: rising(80, 90),
          needs: "a machine that shows its sensors (a virtual one does not)",
          width: 24,
        }),
      ],
    },
    {
      title: "Containers",
      panels: [
        metricPanel(host.containers, {
          title: "Containers that run",
          kind: "stat",
          targets: [ask(`host_containers${at}`, "{{host}}")],
          width: 4,
        }),
        metricPanel(host.containerStarts, {
          title: "Container lifecycle",
          todo: "Starts and ends in the chosen time. Both rising together: something crashes and is started again.",
          kind: "stat",
          targets: [
            ask(
              `sum by (host) (increase(host_container_starts_total${at}[$__range]))`,
              "{{host}} started",
            ),
            ask(
              `sum by (host) (increase(host_container_stops_total${at}[$__range]))`,
              "{{host}} ended",
            ),
          ],
          decimals: 0,
          width: 4,
        }),
        metricPanel(host.containerCpuSeconds, {
          title: "Container CPU",
          rate: true,
          kind: "timeseries",
          targets: [ask(ownContainer("host_container_cpu_seconds_total"), container)],
          range: [0, undefined],
          needs: containers,
          width: 8,
        }),
        metricPanel(host.containerMemoryWorkingSet, {
          title: "Container memory",
          kind: "timeseries",
          targets: [ask(`topk(20, host_container_memory_working_set_bytes${at})`, container)],
          range: [0, undefined],
          needs: containers,
          width: 8,
        }),
        metricPanel(host.containerNetworkBytes, {
          title: "Container network",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              ownContainer("host_container_network_bytes_total", ", direction"),
              `${container} {{direction}}`,
            ),
          ],
          range: [0, undefined],
          needs: containers,
          width: 8,
        }),
        metricPanel(host.containerDiskBytes, {
          title: "Container filesystem I/O",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(
              ownContainer("host_container_disk_bytes_total", ", action"),
              `${container} {{action}}`,
            ),
          ],
          range: [0, undefined],
          needs: containers,
          width: 8,
        }),
        metricPanel(host.containerStartTime, {
          title: "Container age",
          todo: "Young again and again: it crashes.",
          kind: "table",
          targets: [ask(`time() - host_container_start_timestamp_seconds${at}`, "age")],
          needs: containers,
          width: 8,
        }),
      ],
    },
    {
      title: "The same by node exporter",
      panels: [
        others({
          title: "CPU (node exporter)",
          unit: "percentunit",
          about: "Share of all processors that is not idle.",
          targets: [
            ask(
              `1 - avg by (instance) (rate(node_cpu_seconds_total{instance=~"$node",mode="idle"}[${window}]))`,
              "{{instance}}",
            ),
          ],
        }),
        others({
          title: "Load and memory (node exporter)",
          unit: "short",
          about: "Load average of a minute, and the share of memory in use.",
          targets: [
            ask(`node_load1${node}`, "{{instance}} load"),
            ask(
              `1 - node_memory_MemAvailable_bytes${node} / node_memory_MemTotal_bytes${node}`,
              "{{instance}} memory",
              "percentunit",
            ),
          ],
        }),
        others({
          title: "Disk I/O (node exporter)",
          unit: "Bps",
          about: "Bytes read and written by disk.",
          targets: [
            ask(
              `rate(node_disk_read_bytes_total${node}[${window}])`,
              "{{instance}} {{device}} read",
            ),
            ask(
              `rate(node_disk_written_bytes_total${node}[${window}])`,
              "{{instance}} {{device}} write",
            ),
          ],
        }),
        others({
          title: "Storage used (node exporter)",
          kind: "bargauge",
          unit: "percentunit",
          about: "The twenty fullest filesystems.",
          targets: [
            ask(
              `topk(20, 1 - node_filesystem_avail_bytes{instance=~"$node",fstype!~"tmpfs|ramfs|squashfs"} / node_filesystem_size_bytes{instance=~"$node",fstype!~"tmpfs|ramfs|squashfs"})`,
              "{{instance}} {{mountpoint}}",
            ),
          ],
          range: [0, 1],
          steps: rising(0.8, 0.9),
        }),
        others({
          title: "Network throughput (node exporter)",
          unit: "Bps",
          about: "Bytes by interface.",
          targets: [
            ask(
              `rate(node_network_receive_bytes_total${node}[${window}])`,
              "{{instance}} {{device}} receive",
            ),
            ask(
              `rate(node_network_transmit_bytes_total${node}[${window}])`,
              "{{instance}} {{device}} transmit",
            ),
          ],
        }),
        others({
          title: "Network errors (node exporter)",
          unit: "cps",
          about: "Damaged or unsendable packets by interface.",
          targets: [
            ask(
              `rate(node_network_receive_errs_total${node}[${window}])`,
              "{{instance}} {{device}} receive",
            ),
            ask(
              `rate(node_network_transmit_errs_total${node}[${window}])`,
              "{{instance}} {{device}} transmit",
            ),
          ],
        }),
      ],
    },
    {
      title: "The same by cAdvisor",
      panels: [
        others({
          title: "Container CPU (cAdvisor)",
          unit: "short",
          about: "Cores in use.",
          targets: [
            ask(
              `topk(20, sum by (name) (rate(container_cpu_usage_seconds_total${named}[${window}])))`,
              "{{name}}",
            ),
          ],
          needs: cadvisor,
        }),
        others({
          title: "Container memory (cAdvisor)",
          unit: "bytes",
          about: "What counts against the limit.",
          targets: [
            ask(`topk(20, sum by (name) (container_memory_working_set_bytes${named}))`, "{{name}}"),
          ],
          needs: cadvisor,
        }),
        others({
          title: "Container network (cAdvisor)",
          unit: "Bps",
          about: "Bytes by container; containers on the host's own network show the host's.",
          targets: [
            ask(
              `topk(20, sum by (id, name) (rate(container_network_receive_bytes_total[${window}])))`,
              "{{name}} {{id}} receive",
            ),
            ask(
              `topk(20, sum by (id, name) (rate(container_network_transmit_bytes_total[${window}])))`,
              "{{name}} {{id}} transmit",
            ),
          ],
          needs: cadvisor,
        }),
        others({
          title: "Container filesystem (cAdvisor)",
          unit: "bytes",
          about: "What containers wrote and have not given back.",
          targets: [
            ask(
              "topk(20, sum by (id, name, device) (container_fs_usage_bytes))",
              "{{name}} {{id}} {{device}}",
            ),
          ],
          needs: `${cadvisor} beside a container engine`,
        }),
        others({
          title: "Container lifecycle (cAdvisor)",
          kind: "table",
          unit: "s",
          about:
            "Since when each runs, and when it was last seen. Young again and again: it crashes.",
          targets: [
            ask(`time() - max by (name) (container_start_time_seconds${named})`, "age"),
            ask(`time() - max by (name) (container_last_seen${named})`, "last seen ago"),
          ],
          needs: cadvisor,
          width: 16,
        }),
      ],
    },
  ],
};
