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
    help: "Container runtime.",
    values: ["docker", "containerd", "cri-o", "podman", "nspawn", "lxc", "slurm", "unknown"],
  },
  { name: "container_name", help: "Name in the pod, if the kubelet's log folder has it." },
  { name: "pod", help: "Kubernetes pod, if the kubelet's log folder has it." },
  { name: "pod_uid", help: "Kubernetes pod UID, from the cgroup." },
  { name: "namespace", help: "Kubernetes namespace, if the kubelet's log folder has it." },
  { name: "workload", help: "Slurm job id, from the cgroup." },
];
const mode: LabelSpec = {
  name: "mode",
  help: "Processor mode; guest time counts as user.",
  values: ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"],
};
const disk: LabelSpec = { name: "disk", help: "Kernel name of a whole physical disk." };
const action: LabelSpec = { name: "action", help: "Which way.", values: ["read", "write"] };
const networkInterface: LabelSpec = { name: "interface", help: "Name of the network interface." };
const direction: LabelSpec = {
  name: "direction",
  help: "Direction as seen by the machine.",
  values: ["receive", "transmit"],
};
const filesystem: readonly LabelSpec[] = [
  { name: "mountpoint", help: "Mount point." },
  { name: "device", help: "Mounted device." },
  { name: "fstype", help: "Filesystem type." },
];
const resource: LabelSpec = {
  name: "resource",
  help: "Resource that tasks waited for.",
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
        help: "Whether ECC corrected it.",
        values: ["corrected", "uncorrected"],
      },
    ],
  }),
  healthState: machine("host_health_state", {
    help: "Health verdict on the machine itself, without its GPUs: 0 healthy, 1 degraded, 2 failing; absent if its memory reports nothing.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 3],
  }),
  healthReason: machine("host_health_reason", {
    help: "1 for each current reason of the machine's verdict.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 1],
    labels: [{ name: "check", help: "Check.", values: ["host_memory", "switch"] }, ...reasonLabels],
  }),
  info: machine("host_info", {
    help: "The machine, with the labels that --machine-label sets; the value is always 1.",
    labels: [
      { name: "system", help: "Operating system." },
      { name: "kernel", help: "Kernel release." },
      { name: "architecture", help: "Processor architecture." },
    ],
  }),
  cpuInfo: machine("host_cpu_info", {
    help: "The processors; the value is always 1.",
    labels: [
      { name: "model", help: "Name as the processor reports it." },
      { name: "vendor", help: "Vendor." },
    ],
  }),
  cpuSockets: machine("host_cpu_sockets", { help: "Processors.", tier: "static", resolution: 1 }),
  cpuCores: machine("host_cpu_cores", { help: "Total cores.", tier: "static", resolution: 1 }),
  cpuThreads: machine("host_cpu_threads", {
    help: "Total hardware threads.",
    tier: "static",
    resolution: 1,
  }),
  cpuClockMax: machine("host_cpu_clock_max_hertz", {
    help: "Highest clock of the first processor.",
    tier: "static",
  }),
  bootTime: machine("host_boot_timestamp_seconds", {
    help: "Boot time of the machine.",
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
    help: "Runnable threads.",
    resolution: 1,
  }),
  processesBlocked: machine("host_processes_blocked", {
    help: "Threads blocked by disk I/O.",
    resolution: 1,
  }),
  memoryTotal: machine("host_memory_total_bytes", { help: "System memory.", tier: "static" }),
  memoryAvailable: machine("host_memory_available_bytes", {
    help: "System memory available to programs without swapping.",
  }),
  memoryUsed: machine("host_memory_used_bytes", {
    help: "Total system memory less the available part.",
    given: { gpuz: "System Memory Used" },
  }),
  memoryFree: machine("host_memory_free_bytes", { help: "Unused system memory." }),
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
        help: "Driver and number of the sensor chip; absent if a tool does not report it.",
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
    help: "Completed reads and writes.",
    labels: [disk, action],
  }),
  diskOperationSeconds: counter("host_disk_operation_seconds_total", {
    help: "Time spent by all reads and writes together; may advance faster than the wall clock.",
    resolution: 0.001,
    labels: [disk, action],
  }),
  diskBusySeconds: counter("host_disk_busy_seconds_total", {
    help: "Time in which the disk was busy.",
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
    help: "Space available to users other than root.",
    tier: "slow",
    plausible: [0, 1e19],
    labels: filesystem,
  }),
  filesystemFiles: machine("host_filesystem_files", {
    help: "Maximum number of files of the filesystem (inodes).",
    tier: "slow",
    plausible: [0, 1e19],
    resolution: 1,
    labels: filesystem,
  }),
  filesystemFilesFree: machine("host_filesystem_files_free", {
    help: "Free inodes.",
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
    help: "Packets received damaged or not sent because of errors.",
    labels: [networkInterface, direction],
  }),
  networkDrops: counter("host_network_drops_total", {
    help: "Packets dropped because a buffer was full.",
    labels: [networkInterface, direction],
  }),
  networkLinkSpeed: machine("host_network_link_bytes_per_second", {
    help: "Link speed in each direction.",
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
    help: "Running containers and jobs.",
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
    help: "Time the container was throttled by its CPU limit.",
  }),
  containerCpuLimit: container("host_container_cpu_limit_cores", {
    help: "CPU limit of the container in cores; absent without a limit.",
  }),
  containerMemory: container("host_container_memory_bytes", {
    help: "Memory charged to the container, including reclaimable file cache.",
  }),
  containerMemoryWorkingSet: container("host_container_memory_working_set_bytes", {
    help: "Memory charged to the container without inactive file cache (working set).",
  }),
  containerMemoryLimit: container("host_container_memory_limit_bytes", {
    help: "Memory limit of the container; absent without a limit.",
  }),
  containerOomKills: container("host_container_oom_kills_total", {
    help: "Processes of the container killed by the OOM killer.",
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
    help: "Bytes over the container's own network; a network shared by several containers is counted once, for the first of them.",
    labels: [direction],
  }),
  containerNetworkErrors: container("host_container_network_errors_total", {
    help: "Packets with errors on the container's own network.",
    labels: [direction],
  }),
  containerNetworkDrops: container("host_container_network_drops_total", {
    help: "Packets dropped on the container's own network.",
    labels: [direction],
  }),
  containerStartTime: container("host_container_start_timestamp_seconds", {
    help: "Start time of the container, from its cgroup.",
    plausible: [0, 1e11],
    resolution: 1,
  }),
  leftOut: machine("host_left_out", {
    help: "Items without series because their number exceeds the source's limit.",
    tier: "slow",
    resolution: 1,
    labels: [
      {
        name: "kind",
        help: "Kind of item.",
        values: ["disks", "interfaces", "filesystems", "temperatures", "containers"],
      },
    ],
  }),
} as const;
