/**
 * What nvidia-smi is asked, in which order, and what is done with half an answer: the GPUs are needed, the rest may fail and is
 * then absent. One run after the other; never two at once.
 */
import type { Device } from "../../../model/device.ts";
import { parseComputeApps } from "./compute-apps.ts";
import { parseDmon } from "./dmon.ts";
import type { SmiGpu, SmiReading } from "./gpu.ts";
import { parseHelpFields } from "./help-fields.ts";
import { parsePmon } from "./pmon.ts";
import { parseSmiCsv } from "./query-csv.ts";
import { parseSmiText } from "./query-text.ts";
import { parseSmiXml } from "./query-xml.ts";
import { SmiError, type SmiRunner } from "./run.ts";
import { basicColumns, csvColumns } from "./table.ts";
import { parseTopo, peerCell, type TopoMatrix } from "./topo.ts";
import type { SmiCell } from "./value.ts";

export interface SmiPeer {
  readonly device: Device;
  readonly peer: Device;
  readonly cell: SmiCell;
}

const forms = ["xml", "text", "csv"] as const;

/** One answer that was cut short must not keep the better form away for good. */
const retryEveryMs = 60_000;
/** Who reaches whom changes with a reboot, not in between. */
const peersEveryMs = 60_000;

export class SmiClient {
  readonly #runner: SmiRunner;
  #form = 0;
  #formUntilMs = 0;
  #columns: readonly string[] | undefined;
  #topo: readonly TopoMatrix[] = [];
  #topoOf = "";
  #topoUntilMs = 0;

  constructor(runner: SmiRunner) {
    this.#runner = runner;
  }

  /** The XML; the text where that fails or lists no GPU; the CSV where that does. Throws the first form's error where all do. */
  async gpus(timeMs: number): Promise<readonly SmiGpu[]> {
    if (timeMs >= this.#formUntilMs) this.#form = 0;
    let failed: Error | undefined;
    for (const [at, form] of forms.entries()) {
      if (at < this.#form) continue;
      const gpus = await this.#read(form).catch((thrown: unknown): readonly SmiGpu[] => {
        failed ??= thrown instanceof Error ? thrown : new SmiError(String(thrown));
        return [];
      });
      if (gpus.length === 0) continue;
      if (at > this.#form) this.#formUntilMs = timeMs + retryEveryMs;
      this.#form = at;
      return gpus;
    }
    this.#form = 0;
    throw failed ?? new SmiError("nvidia-smi lists no GPU");
  }

  /** Each process's share of its GPU; empty where nvidia-smi does not tell. */
  async shares(): Promise<ReadonlyMap<string, number>> {
    return parsePmon((await this.#may(["pmon", "-c", "1"])) ?? "");
  }

  /** Who reads and writes whose memory: as NVML has it, both must be so. */
  async peers(given: readonly Device[], timeMs: number): Promise<readonly SmiPeer[]> {
    const devices = given.filter(({ parent }) => parent === undefined);
    if (devices.length < 2) return [];
    const of = devices.map(({ uuid, index }) => `${index} ${uuid}`).join("\n");
    if (timeMs >= this.#topoUntilMs || of !== this.#topoOf) {
      const [read, write] = [
        await this.#may(["topo", "-p2p", "r"]),
        await this.#may(["topo", "-p2p", "w"]),
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

  async #read(form: (typeof forms)[number]): Promise<readonly SmiGpu[]> {
    if (form === "xml") return this.#parse(["-q", "-x"], parseSmiXml);
    if (form === "text") return this.#parse(["-q"], parseSmiText);
    this.#columns ??= columnsOf(await this.#runner.run(["--help-query-gpu"]));
    const query = `--query-gpu=${this.#columns.join(",")}`;
    try {
      const gpus = await this.#parse([query, "--format=csv"], parseSmiCsv);
      return gpus.length === 0 ? gpus : await this.#complete(gpus);
    } catch (thrown) {
      // Another driver may have come, with an nvidia-smi that knows other columns.
      this.#columns = undefined;
      throw thrown;
    }
  }

  async #parse(
    args: readonly string[],
    parse: (output: string) => readonly SmiGpu[],
  ): Promise<readonly SmiGpu[]> {
    return parse(await this.#runner.run(args, (output) => parse(output).length > 0));
  }

  /** What the CSV has no columns for. */
  async #complete(gpus: readonly SmiGpu[]): Promise<SmiGpu[]> {
    const apps = ["--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory", "--format=csv"];
    const processes = parseComputeApps((await this.#may(apps)) ?? "");
    const monitored = parseDmon((await this.#may(["dmon", "-c", "1", "-s", "pumt"])) ?? "");
    return gpus.map(({ device, readings }) => ({
      device,
      readings: withMore(readings, monitored.get(device.index) ?? []),
      processes: processes === undefined ? "failed" : (processes.get(device.uuid) ?? []),
    }));
  }

  /** Undefined where it failed; the runner then leaves this question alone for a while. */
  async #may(args: readonly string[]): Promise<string | undefined> {
    try {
      return await this.#runner.run(args);
    } catch {
      return undefined;
    }
  }
}

/** A help text that names nothing is no answer: then what every nvidia-smi knows is asked for. */
function columnsOf(help: string): readonly string[] {
  const known = parseHelpFields(help);
  if (known.size === 0) return basicColumns;
  return [...new Set(csvColumns.flatMap((name) => known.get(name) ?? []))];
}

/** A number that was told already wins. */
function withMore(readings: readonly SmiReading[], more: readonly SmiReading[]): SmiReading[] {
  const key = ({ metric, labels = {} }: SmiReading): string =>
    [metric, ...Object.values(labels)].join("/");
  const numbers = new Set(readings.filter(({ cell }) => typeof cell === "number").map(key));
  const added = new Map(more.map((one) => [key(one), one] as const));
  for (const one of numbers) added.delete(one);
  return [...readings.filter((one) => !added.has(key(one))), ...added.values()];
}
