// Output of drivers, their tools and the kernel: nvidia-smi, AMD's and Intel's files, /proc, /sys, the kernel log, GPU-Z.

import { ProtoError } from "../../../src/formats/protobuf/reader.ts";
import { parseSmiFacts } from "../../../src/agent/snapshot/nvidia-smi.ts";
import { csvSample, isCsvHeader, splitCells } from "../../../src/formats/csv/parse.ts";
import {
  geforceCells,
  geforceColumns,
  gpuzBytes,
  headerLine,
  intelColumns,
  radeonCells,
  radeonColumns,
  rowLine,
} from "../../fixtures/formats/gpuz.ts";
import { GpuzFrames } from "../../../src/formats/gpuz/frames.ts";
import { parseHeader } from "../../../src/formats/gpuz/header.ts";
import { RowParser } from "../../../src/formats/gpuz/rows.ts";
import { localTimeMs, parseZone } from "../../../src/formats/gpuz/time.ts";
import { parseSlurmAccounting } from "../../../src/formats/slurm/accounting.ts";
import { SlurmFormatError } from "../../../src/formats/slurm/document.ts";
import { parseHostList } from "../../../src/formats/slurm/hostlist.ts";
import { parseSlurmQueue } from "../../../src/formats/slurm/queue.ts";
import {
  parseNodeGpus,
  parseRequestedGpus,
  parseTrackedResources,
} from "../../../src/formats/slurm/resources.ts";
import { classify } from "../../../src/machine/kernel-log/classify.ts";
import { FragmentJoiner, parseRecord } from "../../../src/machine/kernel-log/record.ts";
import type { Device } from "../../../src/model/device.ts";
import {
  ownerOfCgroups,
  parseCgroupFile,
  parseCgroupPath,
} from "../../../src/machine/owners/cgroup.ts";
import { parseFdinfo } from "../../../src/machine/owners/fdinfo.ts";
import { encodePodResources } from "../../fixtures/machine/owners-kubelet.ts";
import { parseLogNames } from "../../../src/machine/owners/kubelet/pod-names.ts";
import { decodePodResources } from "../../../src/machine/owners/kubelet/pod-resources.ts";
import { parseListeners } from "../../../src/machine/owners/listening-ports.ts";
import {
  parseEnviron,
  parsePasswd,
  parseStat,
  parseUid,
} from "../../../src/machine/owners/proc.ts";
import { decodeGpuMetrics } from "../../../src/sources/amd/gpu-metrics/decode.ts";
import { interpretGpuMetrics } from "../../../src/sources/amd/gpu-metrics/interpret.ts";
import { metricsLayouts } from "../../../src/sources/amd/gpu-metrics/layouts.ts";
import { parseNameTable } from "../../../src/sources/amd/names.ts";
import {
  parseBadPages,
  parseErrorCounts,
  parseHighestClock,
  parsePcieBandwidth,
  parseProperties,
  parseUniqueId,
} from "../../../src/sources/amd/parse.ts";
import { parseAmdSmiMetric, parseAmdSmiStatic } from "../../../src/sources/amd/tools/amd-smi.ts";
import { parseRocmSmi } from "../../../src/sources/amd/tools/rocm-smi.ts";
import {
  parseCpuMax,
  parseFlatKeyed,
  parseIoStat,
  parseLimit,
} from "../../../src/sources/host/cgroup-files.ts";
import { machineTree } from "../../fixtures/sources/host.ts";
import {
  parseDiskstats,
  parseLoad,
  parseMountinfo,
  parseNetDev,
  parsePressure,
  parseProcStat,
} from "../../../src/sources/host/proc.ts";
import { parseReasons } from "../../../src/sources/intel/throttle.ts";
import {
  readFieldValue,
  readProcessSamples,
  readProcesses,
  readText,
} from "../../../src/sources/nvidia/nvml/structs.ts";
import { ownCapture } from "../../fixtures/sources/nvidia-smi.ts";
import { parsePmon } from "../../../src/sources/nvidia/smi/pmon.ts";
import { parseSmiXml } from "../../../src/sources/nvidia/smi/query-xml.ts";
import { parseTopo } from "../../../src/sources/nvidia/smi/topo.ts";
import { parseReportedLoads } from "../../../src/sources/sim/follow/reported-load.ts";
import { parseUevent } from "../../../src/machine/sysfs/drm.ts";
import { groupFiles } from "../../../src/machine/sysfs/hwmon.ts";
import { parseAerTotal, parseLinkSpeed, parsePciAddress } from "../../../src/machine/sysfs/pci.ts";
import { parseNumber } from "../../../src/machine/sysfs/read.ts";
import { parseHierarchies } from "../../../src/machine/cgroup-limits.ts";
import { parseCommandLine } from "../../../src/machine/command-line.ts";
import {
  parseCpuinfo,
  parseMeminfo,
  parseOsRelease,
  parseCpuList,
  parseSize,
} from "../../../src/machine/proc.ts";
import { parseCudaVersion, parseDriverVersion } from "../../../src/machine/software.ts";
import { parseMounts } from "../../../src/machine/visibility.ts";
import { attributesBlob, metricsBlob } from "../../captures/metrics-blob.ts";
import type { FuzzTarget } from "../contract.ts";

/** Every parser gets the same text: most get input meant for another, which happens in the field too. */
const all =
  (...parsers: readonly ((text: string) => unknown)[]) =>
  (bytes: Buffer): unknown => {
    const text = bytes.toString();
    return parsers.map((parse) => parse(text));
  };

/** The capture without its long list of clocks, which no parser reads. */
const shortXml = (name: string): string =>
  ownCapture(name).replace(/<supported_clocks>[\s\S]*<\/supported_clocks>/, "");

const noon = Date.UTC(2026, 0, 2, 12);
const cgroups = [
  "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f0a3c5e_1111_2222_3333_444455556666.slice/cri-containerd-" +
    `${"ab".repeat(32)}.scope\n`,
  `12:memory:/docker/${"cd".repeat(32)}\n`,
  "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_1\n",
  "0::/user.slice/user-1000.slice/session-3.scope\n",
];
const device: Device = { uuid: "U", index: 0, vendor: "nvidia", model: "M", simulated: false };

export const targets: readonly FuzzTarget[] = [
  {
    name: "slurm-json",
    seeds: [
      '{"meta":{"slurm":{"release":"24.05.2"}},"errors":[],"jobs":[{"job_id":7,"job_state":["RUNNING"],"nodes":"n[1-2]","gres_detail":["gpu:a:2(IDX:0-1)","gpu:1(IDX:3)"],"tres_req_str":"cpu=1,mem=2G,gres/gpu=3","start_time":{"set":true,"infinite":false,"number":5},"exit_code":768}]}',
      '{"jobs":[{"job_id":7,"state":{"current":"FAILED"},"array":{"job_id":7,"task_id":1},"time":{"start":1,"end":9,"submission":1},"tres":{"allocated":[{"type":"gres","name":"gpu","count":2}]},"steps":[{"time":{"total":{"seconds":1,"microseconds":5}},"tres":{"requested":{"max":[{"type":"mem","count":9}]}}}]}]}',
    ],
    cost: 2,
    parse: (bytes) => {
      const text = bytes.toString();
      return [parseSlurmQueue(text), parseSlurmAccounting(text)];
    },
    refuses: [SlurmFormatError],
  },
  {
    name: "slurm-texts",
    seeds: [
      "r[0-1]n[08-10,12],login",
      "gpu:a100:2(IDX:0,3),gpu:1(IDX:4)",
      "cpu=8,mem=64G,gres/gpu=2",
    ],
    cost: 4,
    parse: all(parseHostList, parseNodeGpus, parseRequestedGpus, parseTrackedResources),
  },
  {
    name: "nvidia-smi-xml",
    seeds: [
      shortXml("load.q.xml"),
      '<?xml version="1.0" ?><nvidia_smi_log><gpu id="0"><uuid>GPU-a</uuid><fan_speed>N/A</fan_speed></gpu></nvidia_smi_log>',
    ],
    cost: 4,
    parse: all(parseSmiXml, parseSmiFacts),
  },
  {
    name: "nvidia-smi-tables",
    seeds: ["load.pmon.txt", "topo-m.txt"].map(ownCapture),
    parse: all(parsePmon, parseTopo),
  },
  {
    name: "nvml-structs",
    seeds: [Buffer.alloc(240, 1)],
    parse: (bytes) => {
      const whole = Buffer.concat([bytes, Buffer.alloc(64)]);
      return [
        readProcesses(bytes, bytes[0] ?? 0, 24),
        readProcesses(bytes, bytes[0] ?? 0, 16),
        readProcessSamples(bytes, bytes[0] ?? 0),
        readText(bytes),
        readFieldValue(whole, 0),
      ];
    },
  },
  {
    name: "amd-gpu-metrics",
    seeds: [
      ...metricsLayouts.map(({ version, sizeBytes }) =>
        metricsBlob(
          version,
          { gfxActivity: 50, socketPower: 100, independentThrottle: [1, 2] },
          sizeBytes,
        ),
      ),
      attributesBlob([{ id: 3, unit: 3, type: 2, values: [742] }]),
    ],
    parse: (bytes) => {
      const decoded = decodeGpuMetrics(bytes);
      return decoded.ok ? interpretGpuMetrics(decoded.value) : decoded.reason;
    },
  },
  {
    name: "amd-files",
    seeds: [
      "0: 500Mhz \n1: 31Mhz *\n2: 2219Mhz ",
      "ue: 1\nce: 2\nde: 3",
      "0x00000001 : 0x00001000 : R",
      "11886 2528 256",
      "946d7e1ef9b172dd",
      "simd_count 24\nlocation_id 25600",
      "73BF,\tC0,\tAMD Radeon RX 6900 XT",
    ],
    parse: all(
      parseHighestClock,
      parseErrorCounts,
      parseBadPages,
      parsePcieBandwidth,
      parseUniqueId,
      parseProperties,
      parseNameTable,
    ),
  },
  {
    name: "amd-tools",
    seeds: [
      '[{"gpu":0,"usage":{"gfx_activity":{"value":7,"unit":"%"}},"power":{"socket_power":{"value":15,"unit":"W"}},"clock":{"gfx_0":{"clk":{"value":1269,"unit":"MHz"}}},"temperature":{"edge":{"value":40,"unit":"C"},"hotspot":"N/A"},"mem_usage":{"total_vram":{"value":512,"unit":"MB"}}}]',
      '{"gpu_data":[{"gpu":0,"asic":{"market_name":"MI300X","asic_serial":"0x1"},"bus":{"bdf":"0000:07:00.0"},"driver":{"version":"6.8"}}]}',
      '{"card0":{"GPU use (%)":"7","sclk clock speed:":"(500Mhz)","pcie clock level":"1 (16.0GT/s x16)","PCI Bus":"0000:07:00.0"},"system":{"Driver version":"6.8"}}',
    ],
    parse: all(parseAmdSmiMetric, parseAmdSmiStatic, parseRocmSmi),
  },
  {
    name: "sysfs",
    seeds: [
      "16.0 GT/s PCIe",
      "RxErr 0\nTOTAL_ERR_COR 12",
      "DRIVER=xe\nPCI_ID=8086:56A5\nPCI_SLOT_NAME=0000:08:00.0",
      "pl1 thermal vr_tdc",
      "temp1_input\ntemp1_label\nin0_input\npwm1",
      "-42\n",
      "0-3,8,10-11",
      "2048K",
    ],
    parse: all(
      parseLinkSpeed,
      parsePciAddress,
      parseCommandLine,
      parseAerTotal,
      parseUevent,
      parseReasons,
      parseNumber,
      parseCpuList,
      parseSize,
      (text) => groupFiles(text.split("\n")),
    ),
  },
  {
    name: "proc-files",
    seeds: Object.values(machineTree).filter(
      (content): content is string => typeof content === "string" && content.length > 10,
    ),
    cost: 2,
    parse: all(
      parseProcStat,
      parseLoad,
      parseMeminfo,
      parseDiskstats,
      parseNetDev,
      parseCpuinfo,
      parsePressure,
      parseMountinfo,
      parseOsRelease,
      parseFlatKeyed,
      parseCpuMax,
      parseLimit,
      parseIoStat,
      parseHierarchies,
      parseMounts,
      parseDriverVersion,
      parseCudaVersion,
    ),
  },
  {
    name: "process-files",
    seeds: [
      "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 9000 1 2",
      "Name:\tx\nUid:\t1\t2\n",
      "root:x:0:0::/:/bin/sh\n",
      "HOME=/\0SLURM_JOB_ID=42\0",
      "drm-driver:\tamdgpu\ndrm-client-id:\t42\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t1024 KiB\ndrm-engine-gfx:\t12345 ns\n",
      "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 34011 1 0\n",
      ...cgroups,
      `web-0_shop_cart-${"ef".repeat(32)}.log`,
    ],
    parse: (bytes) => {
      const text = bytes.toString();
      return [
        parseStat(text),
        parseUid(text),
        parsePasswd(text),
        parseEnviron(bytes),
        parseListeners(text),
        parseFdinfo(text),
        ownerOfCgroups(parseCgroupFile(text)),
        parseCgroupPath(text),
        parseLogNames(text.split("\n")),
      ];
    },
  },
  {
    name: "kubelet",
    seeds: [
      encodePodResources([
        {
          pod: "web-0",
          namespace: "shop",
          containers: { cart: { "nvidia.com/gpu": ["GPU-a", "GPU-b"] } },
        },
      ]),
    ],
    refuses: [ProtoError],
    parse: (bytes) => decodePodResources(bytes),
  },
  {
    name: "kernel-log",
    seeds: [
      "3,100,5000,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.\n SUBSYSTEM=pci",
      "3,9,9,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout",
      "6,7,8,c,caller=T12;i915 0000:00:02.0: [drm] GPU HANG: ecode 12",
      "4,1,2,-;nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal",
    ],
    parse: (bytes) => {
      const joiner = new FragmentJoiner();
      return bytes
        .toString("latin1")
        .split("\n")
        .map((line) => {
          const record = parseRecord(line);
          const whole = record === undefined ? undefined : joiner.push(record);
          return whole === undefined ? undefined : classify(whole);
        });
    },
  },
  {
    name: "gpuz-log",
    seeds: [
      headerLine(geforceColumns) + rowLine("2026-01-02 12:00:00", geforceCells),
      headerLine(radeonColumns) + rowLine("2026-01-02 12:00:00", radeonCells),
      headerLine(intelColumns) + rowLine("2026-01-02 12:00:00", [350, 41, 0.4, 3, "-", 120, 7]),
    ].map(gpuzBytes),
    parse: (bytes) => {
      const parser = new RowParser();
      const frames = new GpuzFrames(device, "pc");
      const half = bytes.length >> 1;
      const rows = [
        ...parser.push(bytes.subarray(0, half)),
        ...parser.push(bytes.subarray(half)),
        ...parser.end(),
      ];
      for (const row of rows) {
        const frame = frames.frame(row, row.localMs);
        for (const [slot, code] of frame.presence.entries())
          if (code === 0 && !Number.isFinite(frame.values[slot]))
            throw new Error(`${frame.values[slot]} is no reading`);
      }
    },
  },
  {
    name: "gpuz-parts",
    seeds: [headerLine(geforceColumns), "2026-01-02 12:00:00", "+02:00", "Europe/Berlin", "UTC"],
    parse: all(parseHeader, localTimeMs, (text) => {
      const zone = parseZone(text);
      return zone?.offsetMs(noon);
    }),
  },
  {
    name: "csv-samples",
    seeds: ['__name__,time,value,a\nx,2026-01-02T12:00:00Z,1.5,"q""u,o"\nx,1790000000,NaN,\n'],
    parse: all((text) => {
      const [head = [], ...rows] = text.split("\n").map(splitCells);
      return isCsvHeader(head) ? rows.map((row) => csvSample(head, row)) : undefined;
    }),
  },
  {
    name: "sim-followed",
    seeds: [
      '{"simulated":true,"gpus":[{"gpu":0,"workload":"inference","busy":0.43,"memoryBytes":6e10}]}',
    ],
    parse: all(parseReportedLoads),
  },
];
