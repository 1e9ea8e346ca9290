/** Metrics of the machine around the GPUs and of its containers. Values that must not be summed over a label are separate metrics. */
import { entry, type MetricEntryOptions } from "./define.ts";
import type { LabelSpec, MetricEntry } from "./entry.ts";
import { reasonLabels } from "./health.ts";

const machine = (name: string, draft: MetricEntryOptions): MetricEntry =>
  entry("host", name, draft);

/** Counters of bytes and packets grow for years: only values that no counter can reach are implausible. */
const counter = (name: string, draft: MetricEntryOptions): MetricEntry =>
  machine(name, { plausible: [0, 2 ** 64], ...draft });

const container = (name: string, draft: MetricEntryOptions): MetricEntry =>
  counter(name, { tier: "slow", ...draft, labels: [...containerLabels, ...(draft.labels ?? [])] });

const containerLabels: readonly LabelSpec[] = [
  { name: "container", help: "First 12 characters of the container's id, or its name." },
  {
    name: "runtime",
    help: "What runs it.",
    values: ["docker", "containerd", "cri-o", "podman", "nspawn", "lxc", "slurm", "unknown"],
  },
  { name: "container_name", help: "Its name in the pod, where the kubelet's log folder has it." },
  { name: "pod", help: "Kubernetes pod, where the kubelet's log folder has it." },
  { name: "pod_uid", help: "Kubernetes pod UID, from the cgroup." },
  { name: "namespace", help: "Kubernetes namespace, where the kubelet's log folder has it." },
  { name: "workload", help: "Slurm job id, from the cgroup." },
];
const mode: LabelSpec = {
  name: "mode",
  help: "What the processors did; guests count as user.",
  values: ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"],
};
const disk: LabelSpec = { name: "disk", help: "Kernel name of a whole physical disk." };
const action: LabelSpec = { name: "action", help: "Which way.", values: ["read", "write"] };
const networkInterface: LabelSpec = { name: "interface", help: "Name of the network interface." };
const direction: LabelSpec = {
  name: "direction",
  help: "As the machine sees it.",
  values: ["receive", "transmit"],
};
const filesystem: readonly LabelSpec[] = [
  { name: "mountpoint", help: "Where it is mounted." },
  { name: "device", help: "What is mounted." },
  { name: "fstype", help: "Kind of filesystem." },
];
const resource: LabelSpec = {
  name: "resource",
  help: "What was waited for.",
  values: ["cpu", "memory", "io"],
};

export const host = {
  memoryErrors: counter("host_memory_errors_total", {
    help: "Errors of the machine's memory since boot (EDAC).",
    tier: "slow",
    labels: [
      { name: "controller", help: "Memory controller, such as mc0." },
      {
        name: "type",
        help: "Whether it could be corrected.",
        values: ["corrected", "uncorrected"],
      },
    ],
  }),
  healthState: machine("host_health_state", {
    help: "The verdict on the machine itself, without its GPUs: 0 healthy, 1 degraded, 2 failing; absent where its memory reports nothing.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 3],
  }),
  healthReason: machine("host_health_reason", {
    help: "1 for every reason of the machine's verdict while it stands.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 1],
    labels: [
      { name: "check", help: "What was looked at.", values: ["host_memory", "switch"] },
      ...reasonLabels,
    ],
  }),
  info: machine("host_info", {
    help: "The machine, with the labels that --machine-label sets; the value is always 1.",
    labels: [
      { name: "system", help: "Operating system as it calls itself." },
      { name: "kernel", help: "Kernel release." },
      { name: "architecture", help: "Processor architecture." },
    ],
  }),
  cpuInfo: machine("host_cpu_info", {
    help: "The processors; the value is always 1.",
    labels: [
      { name: "model", help: "Name as the processor reports it." },
      { name: "vendor", help: "Who made it." },
    ],
  }),
  cpuSockets: machine("host_cpu_sockets", { help: "Processors.", tier: "static", resolution: 1 }),
  cpuCores: machine("host_cpu_cores", { help: "Cores in all.", tier: "static", resolution: 1 }),
  cpuThreads: machine("host_cpu_threads", {
    help: "Hardware threads in all.",
    tier: "static",
    resolution: 1,
  }),
  cpuClockMax: machine("host_cpu_clock_max_hertz", {
    help: "Highest clock of the first processor.",
    tier: "static",
  }),
  bootTime: machine("host_boot_timestamp_seconds", {
    help: "When the machine was started.",
    tier: "static",
    resolution: 1,
  }),
  load1: machine("host_load1", { help: "Load average over one minute.", resolution: 0.01 }),
  load5: machine("host_load5", { help: "Load average over five minutes.", resolution: 0.01 }),
  load15: machine("host_load15", { help: "Load average over fifteen minutes.", resolution: 0.01 }),
  cpuSeconds: counter("host_cpu_seconds_total", {
    help: "Processor time over all threads, by mode.",
    resolution: 0.01,
    labels: [mode],
  }),
  contextSwitches: counter("host_context_switches_total", { help: "Context switches." }),
  processesRunning: machine("host_processes_running", {
    help: "Threads that run or could.",
    resolution: 1,
  }),
  processesBlocked: machine("host_processes_blocked", {
    help: "Threads that wait for a disk.",
    resolution: 1,
  }),
  memoryTotal: machine("host_memory_total_bytes", { help: "System memory.", tier: "static" }),
  memoryAvailable: machine("host_memory_available_bytes", {
    help: "System memory a program can still get without swapping.",
  }),
  memoryUsed: machine("host_memory_used_bytes", {
    help: "System memory less what is available.",
    given: { gpuz: "System Memory Used" },
  }),
  memoryFree: machine("host_memory_free_bytes", { help: "System memory used for nothing at all." }),
  memoryCached: machine("host_memory_cached_bytes", {
    help: "System memory that holds file contents; most of it is available too.",
  }),
  swapTotal: machine("host_swap_total_bytes", { help: "Swap space.", tier: "static" }),
  swapUsed: machine("host_swap_used_bytes", { help: "Swap space in use." }),
  cpuTemperature: machine("host_cpu_temperature_celsius", {
    help: "Temperature of the processors by sensor.",
    tier: "slow",
    plausible: [-40, 150],
    labels: [
      {
        name: "chip",
        help: "Driver and number of the sensor chip; absent where a tool does not report it.",
      },
      { name: "sensor", help: "The sensor's label, such as package, Tctl or Core 0." },
    ],
    given: { gpuz: "CPU Temperature" },
  }),
  temperature: machine("host_temperature_celsius", {
    help: "Temperatures of the board, disks and network cards by sensor.",
    tier: "slow",
    plausible: [-40, 150],
    labels: [
      { name: "chip", help: "Driver and number of the sensor chip." },
      { name: "sensor", help: "The sensor's label." },
    ],
  }),
  diskBytes: counter("host_disk_bytes_total", {
    help: "Bytes read from and written to disks.",
    labels: [disk, action],
  }),
  diskOperations: counter("host_disk_operations_total", {
    help: "Reads and writes that ended.",
    labels: [disk, action],
  }),
  diskOperationSeconds: counter("host_disk_operation_seconds_total", {
    help: "Time spent by all reads and writes together; may grow faster than the clock.",
    resolution: 0.001,
    labels: [disk, action],
  }),
  diskBusySeconds: counter("host_disk_busy_seconds_total", {
    help: "Time in which the disk had something to do.",
    resolution: 0.001,
    labels: [disk],
  }),
  filesystemSize: machine("host_filesystem_size_bytes", {
    help: "Size of the filesystem.",
    tier: "slow",
    plausible: [0, 1e19],
    labels: filesystem,
  }),
  filesystemAvailable: machine("host_filesystem_available_bytes", {
    help: "Space that users other than root can still get.",
    tier: "slow",
    plausible: [0, 1e19],
    labels: filesystem,
  }),
  filesystemFiles: machine("host_filesystem_files", {
    help: "Files the filesystem can hold.",
    tier: "slow",
    plausible: [0, 1e19],
    resolution: 1,
    labels: filesystem,
  }),
  filesystemFilesFree: machine("host_filesystem_files_free", {
    help: "Files that can still be made.",
    tier: "slow",
    plausible: [0, 1e19],
    resolution: 1,
    labels: filesystem,
  }),
  networkBytes: counter("host_network_bytes_total", {
    help: "Bytes over the network.",
    labels: [networkInterface, direction],
  }),
  networkPackets: counter("host_network_packets_total", {
    help: "Packets over the network.",
    labels: [networkInterface, direction],
  }),
  networkErrors: counter("host_network_errors_total", {
    help: "Packets that were damaged or could not be sent.",
    labels: [networkInterface, direction],
  }),
  networkDrops: counter("host_network_drops_total", {
    help: "Packets thrown away for want of room.",
    labels: [networkInterface, direction],
  }),
  networkLinkSpeed: machine("host_network_link_bytes_per_second", {
    help: "What the link can carry each way.",
    tier: "slow",
    labels: [networkInterface],
  }),
  pressureWaiting: counter("host_pressure_waiting_seconds_total", {
    help: "Time in which some task waited for the resource (PSI some).",
    tier: "slow",
    labels: [resource],
  }),
  pressureStalled: counter("host_pressure_stalled_seconds_total", {
    help: "Time in which every task waited for the resource (PSI full).",
    tier: "slow",
    labels: [resource],
  }),
  containers: machine("host_containers", {
    help: "Containers and jobs that run.",
    tier: "slow",
    resolution: 1,
  }),
  containerStarts: counter("host_container_starts_total", {
    help: "Containers seen to start since this program started.",
    tier: "slow",
  }),
  containerStops: counter("host_container_stops_total", {
    help: "Containers seen to end since this program started.",
    tier: "slow",
  }),
  containerCpuSeconds: container("host_container_cpu_seconds_total", {
    help: "Processor time used by the container.",
  }),
  containerCpuThrottledSeconds: container("host_container_cpu_throttled_seconds_total", {
    help: "Time the container was held back by its processor limit.",
  }),
  containerCpuLimit: container("host_container_cpu_limit_cores", {
    help: "Cores the container may use; absent where there is no limit.",
  }),
  containerMemory: container("host_container_memory_bytes", {
    help: "Memory charged to the container, file contents it could give back included.",
  }),
  containerMemoryWorkingSet: container("host_container_memory_working_set_bytes", {
    help: "Memory charged to the container less the file contents it has not touched of late.",
  }),
  containerMemoryLimit: container("host_container_memory_limit_bytes", {
    help: "Memory the container may use; absent where there is no limit.",
  }),
  containerOomKills: container("host_container_oom_kills_total", {
    help: "Processes of the container killed for want of memory.",
  }),
  containerDiskBytes: container("host_container_disk_bytes_total", {
    help: "Bytes the container read from and wrote to disks.",
    labels: [action],
  }),
  containerDiskOperations: container("host_container_disk_operations_total", {
    help: "Reads and writes of the container.",
    labels: [action],
  }),
  containerNetworkBytes: container("host_container_network_bytes_total", {
    help: "Bytes over the container's own network; containers that share one are counted once, with the first of them.",
    labels: [direction],
  }),
  containerNetworkErrors: container("host_container_network_errors_total", {
    help: "Damaged or unsendable packets on the container's own network.",
    labels: [direction],
  }),
  containerNetworkDrops: container("host_container_network_drops_total", {
    help: "Packets thrown away on the container's own network.",
    labels: [direction],
  }),
  containerStartTime: container("host_container_start_timestamp_seconds", {
    help: "When the container was started, by its cgroup.",
    plausible: [0, 1e11],
    resolution: 1,
  }),
  leftOut: machine("host_left_out", {
    help: "Things that have no series because there are more of them than the source's limit.",
    tier: "slow",
    resolution: 1,
    labels: [
      {
        name: "kind",
        help: "What kind of thing.",
        values: ["disks", "interfaces", "filesystems", "temperatures", "containers"],
      },
    ],
  }),
} as const;
