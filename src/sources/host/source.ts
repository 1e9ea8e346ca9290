/** The machine around the GPUs, read from /proc and /sys in three tiers. A part that fails does not affect the others. */
import { host, type Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { type FileAccess, hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { PolledSource } from "../source.ts";
import { Containers } from "./containers.ts";
import { Disks } from "./disks.ts";
import { Filesystems, type ReadSpace } from "./filesystems.ts";
import type { HostContext } from "./machine.ts";
import { Network } from "./network.ts";
import { addPressure } from "./pressure.ts";
import { addMachineFacts, addProcessor } from "./processor.ts";
import { HostFrameBuilder } from "./samples.ts";
import { Temperatures } from "./temperatures.ts";

export interface HostOptions {
  readonly host: string;
  readonly procfs: string;
  readonly sysfs: string;
  readonly nowMs: () => number;
  /** Maximum number of containers with their own series; 0 disables containers. */
  readonly containers: number;
  readonly fileAccess?: FileAccess;
  readonly askSpace?: ReadSpace;
}

export class HostSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[] = ["fast", "slow", "static"];
  readonly #machine: HostContext;
  readonly #samples: Record<Tier, HostFrameBuilder>;
  readonly #disks: Disks;
  readonly #network: Network;
  readonly #filesystems: Filesystems;
  readonly #temperatures: Temperatures;
  readonly #containers: Containers | undefined;

  constructor(options: HostOptions) {
    const { procfs, sysfs, nowMs, fileAccess = hostFileAccess } = options;
    this.#machine = { procfs, sysfs, nowMs, fileAccess };
    this.#samples = {
      fast: new HostFrameBuilder(options.host),
      slow: new HostFrameBuilder(options.host),
      static: new HostFrameBuilder(options.host),
    };
    this.#disks = new Disks(this.#machine);
    this.#network = new Network(this.#machine);
    this.#filesystems = new Filesystems(this.#machine, options.askSpace);
    this.#temperatures = new Temperatures(this.#machine);
    this.#containers =
      options.containers === 0 ? undefined : new Containers(this.#machine, options.containers);
  }

  devices(): readonly [] {
    return [];
  }

  async read(tier: Tier, timeMs: number): Promise<Frame> {
    const samples = this.#samples[tier];
    samples.begin();
    if (tier === "fast") {
      await addProcessor(this.#machine, samples);
      await this.#disks.add(samples);
      await this.#network.addTraffic(samples);
    } else if (tier === "slow") {
      await this.#network.addLinks(samples);
      await this.#temperatures.add(samples);
      await addPressure(this.#machine, samples);
      await this.#filesystems.add(samples);
      await this.#containers?.add(samples);
      this.#addLeftOut(samples);
    } else {
      await addMachineFacts(this.#machine, samples);
    }
    return samples.frame(timeMs);
  }

  close(): void {}

  #addLeftOut(samples: HostFrameBuilder): void {
    samples.add(host.leftOut, this.#disks.leftOut, { kind: "disks" });
    samples.add(host.leftOut, this.#network.leftOut, { kind: "interfaces" });
    samples.add(host.leftOut, this.#filesystems.leftOut, { kind: "filesystems" });
    samples.add(host.leftOut, this.#temperatures.leftOut, { kind: "temperatures" });
    if (this.#containers !== undefined)
      samples.add(host.leftOut, this.#containers.leftOut, { kind: "containers" });
  }
}
