/**
 * Runs the nvidia-smi commands one after the other, never two at once. The GPU list is required; the other outputs may fail and
 * are then absent. Every nvidia-smi version still in use writes XML.
 */
import type { Device } from "../../../model/device.ts";
import type { SmiGpu } from "./gpu.ts";
import { parsePmon } from "./pmon.ts";
import { parseSmiXml } from "./query-xml.ts";
import { SmiError, type SmiRunner } from "./run.ts";
import { parseTopo, peerCell, type TopoMatrix } from "./topo.ts";
import type { SmiCell } from "./value.ts";

export interface SmiPeer {
  readonly device: Device;
  readonly peer: Device;
  readonly cell: SmiCell;
}

/** Peer access changes only with a reboot. */
const peersEveryMs = 60_000;

export class SmiClient {
  readonly #runner: SmiRunner;
  #topo: readonly TopoMatrix[] = [];
  #topoOf = "";
  #topoUntilMs = 0;

  constructor(runner: SmiRunner) {
    this.#runner = runner;
  }

  /** @throws SmiError if nvidia-smi fails or lists no GPU */
  async gpus(): Promise<readonly SmiGpu[]> {
    const isUsable = (output: string): boolean => parseSmiXml(output).length > 0;
    const gpus = parseSmiXml(await this.#runner.run(["-q", "-x"], isUsable));
    if (gpus.length === 0) throw new SmiError("nvidia-smi lists no GPU");
    return gpus;
  }

  /** Each process's share of its GPU; empty if nvidia-smi does not report it. */
  async shares(): Promise<ReadonlyMap<string, number>> {
    return parsePmon((await this.#tryRun(["pmon", "-c", "1"])) ?? "");
  }

  /** Which GPUs can access each other's memory: as in NVML, both reading and writing must work. */
  async peers(given: readonly Device[], timeMs: number): Promise<readonly SmiPeer[]> {
    const devices = given.filter(({ parent }) => parent === undefined);
    if (devices.length < 2) return [];
    const of = devices.map(({ uuid, index }) => `${index} ${uuid}`).join("\n");
    if (timeMs >= this.#topoUntilMs || of !== this.#topoOf) {
      const [read, write] = [
        await this.#tryRun(["topo", "-p2p", "r"]),
        await this.#tryRun(["topo", "-p2p", "w"]),
      ];
      this.#topo = read === undefined || write === undefined ? [] : [read, write].map(parseTopo);
      this.#topoOf = of;
      this.#topoUntilMs = timeMs + peersEveryMs;
    }
    if (this.#topo.length === 0) return [];
    return devices.flatMap((device) =>
      devices
        .filter((peer) => peer !== device)
        .map((peer): SmiPeer => {
          const cells = this.#topo.map((one) => peerCell(one.get(device.index)?.get(peer.index)));
          const unknown = cells.find((cell) => typeof cell === "string");
          return { device, peer, cell: unknown ?? Number(cells.every((cell) => cell === 1)) };
        }),
    );
  }

  /** Undefined if the command failed; the runner then backs off for it. */
  async #tryRun(args: readonly string[]): Promise<string | undefined> {
    try {
      return await this.#runner.run(args);
    } catch {
      return undefined;
    }
  }
}
