/** Network interfaces with hardware. Bridges, bonds and container interfaces would count the same bytes again. */
import { host } from "../../model/catalogue/index.ts";
import { listDir, readNumber, readText } from "../../machine/sysfs/read.ts";
import { present, type ReadResult, unsupported } from "../../machine/sysfs/read-result.ts";
import type { HostContext } from "./machine.ts";
import { type NetworkCounts, parseNetDev } from "./proc.ts";
import { FactCache } from "./fact-cache.ts";
import { capped, type HostFrameBuilder } from "./samples.ts";

const mostInterfaces = 64;
const virtualNames =
  /^(?:lo$|veth|docker|br-|br\d|virbr|vnet|cni|flannel|cali|cilium|lxc|ifb|dummy|tun|tap|kube|podman|sit\d|tunl|ip6|gre)/;
const directions = ["receive", "transmit"] as const;

export class Network {
  readonly #machine: HostContext;
  readonly #hasDevice: FactCache<boolean>;
  leftOut = 0;

  constructor(machine: HostContext) {
    this.#machine = machine;
    this.#hasDevice = new FactCache(machine.nowMs, async (name) => {
      const files = await listDir(`${machine.sysfs}/class/net/${name}`, machine.fileAccess);
      return files.ok && files.value.includes("device");
    });
  }

  async addTraffic(samples: HostFrameBuilder): Promise<void> {
    const all = await this.#read();
    for (const name of await this.#shown(all)) {
      const counts = all.get(name);
      if (counts !== undefined) addInterface(name, counts, samples);
    }
  }

  async addLinks(samples: HostFrameBuilder): Promise<void> {
    const { sysfs, fileAccess } = this.#machine;
    for (const name of await this.#shown(await this.#read())) {
      const megabits = await readNumber(`${sysfs}/class/net/${name}/speed`, fileAccess);
      samples.add(host.networkLinkSpeed, speedOf(megabits), { interface: name });
    }
  }

  async #shown(all: ReadonlyMap<string, NetworkCounts>): Promise<readonly string[]> {
    const names = [...all.keys()];
    const physical = await this.#hasDevice.filter(names.filter((name) => name !== "lo"));
    // A container has no hardware interfaces, so interfaces that look like an uplink are reported.
    const chosen =
      physical.length > 0 ? physical : names.filter((name) => !virtualNames.test(name));
    const [shown, leftOut] = capped(chosen, mostInterfaces);
    this.leftOut = leftOut;
    return shown;
  }

  /** Process 1 has the machine's own network, also in a container that mounts its host's /proc. */
  async #read(): Promise<ReadonlyMap<string, NetworkCounts>> {
    const { procfs, fileAccess } = this.#machine;
    for (const path of [`${procfs}/1/net/dev`, `${procfs}/net/dev`]) {
      const text = await readText(path, 262_144, fileAccess);
      if (text.ok) return parseNetDev(text.value);
    }
    return new Map();
  }
}

/** A link that is down reports -1, a virtual card may report nothing. */
function speedOf(megabits: ReadResult<number>): ReadResult<number> {
  if (!megabits.ok) return megabits;
  return megabits.value > 0 && megabits.value < 2 ** 31
    ? present(megabits.value * 125_000)
    : unsupported;
}

function addInterface(name: string, counts: NetworkCounts, samples: HostFrameBuilder): void {
  for (const direction of directions) {
    const { bytes, packets, errors, drops } = counts[direction];
    const labels = { interface: name, direction };
    samples.add(host.networkBytes, bytes, labels);
    samples.add(host.networkPackets, packets, labels);
    samples.add(host.networkErrors, errors, labels);
    samples.add(host.networkDrops, drops, labels);
  }
}
