/**
 * The AMD cards as the tools report them, for a machine whose /sys cannot be read. The tools run in the background at long intervals; a
 * reading comes from their last output, and is absent once that is too old. The tools wake a sleeping card, so /sys is preferred.
 */
import { gpu } from "../../../model/catalogue/index.ts";
import { type Device, fallbackUuid } from "../../../model/device.ts";
import { parsePciAddress } from "../../../machine/sysfs/pci.ts";
import { failed, present } from "../../../machine/sysfs/read-result.ts";
import type { Card, CardChannel } from "../../cards.ts";
import { familyOf } from "../family.ts";
import { parseUniqueId } from "../parse.ts";
import { ToolRunner } from "./run.ts";
import { readAllCards, valueKey } from "./snapshot.ts";
import type { ToolCard, ToolValue } from "./tool-card.ts";

const refreshEveryMs = 10_000;
const freshForMs = 35_000;
const deadlineMs = 10_000;

export interface ToolMachineOptions {
  readonly nowMs: () => number;
  /** Returned by `machineIdentity`; identifies cards whose unique id the tools do not print. */
  readonly machine: string;
  readonly path?: string | undefined;
}

export class ToolMachine {
  readonly #nowMs: () => number;
  readonly #machine: string;
  readonly #runner: ToolRunner;
  readonly #rocmRunner: ToolRunner;
  #cards: readonly ToolCard[] = [];
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor({ nowMs, machine, path }: ToolMachineOptions) {
    this.#nowMs = nowMs;
    this.#machine = machine;
    const options = { deadlineMs, path };
    this.#runner = new ToolRunner(options);
    this.#rocmRunner = new ToolRunner(options);
  }

  /** Waits for the first output; later runs are in the background. */
  async discover(): Promise<readonly Card[]> {
    this.#refresh();
    if (this.#cards.length === 0) await this.#running;
    return this.#cards.map((card) => this.#present(card));
  }

  #refresh(): void {
    const timeMs = this.#nowMs();
    if (this.#running !== undefined || timeMs - this.#startedAtMs < refreshEveryMs) return;
    this.#startedAtMs = timeMs;
    this.#running = readAllCards(this.#runner, this.#rocmRunner, timeMs, this.#cards)
      .then((answer) => {
        if (!answer.ok) return undefined;
        this.#cards = answer.value;
        this.#reportedAtMs = timeMs;
        return undefined;
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  #present(card: ToolCard): Card {
    const device = describe(card, this.#machine);
    const now = (): ToolCard | undefined => {
      this.#refresh();
      const isFresh = this.#nowMs() - this.#reportedAtMs <= freshForMs;
      return isFresh
        ? this.#cards.find((other) => describe(other, this.#machine).uuid === device.uuid)
        : undefined;
    };
    return {
      key: `tool ${card.number}`,
      device,
      expected: [],
      sleepState: async () => (now() === undefined ? "gone" : "awake"),
      findChannels: async () =>
        (now()?.values ?? []).map((value): CardChannel => {
          const key = valueKey(value);
          return {
            ...seriesOf(card, value),
            read: () => {
              const found = now()?.values.find((other) => valueKey(other) === key);
              return found === undefined ? failed : present(found.value);
            },
          };
        }),
    };
  }
}

/** The catalogue's series of a tool's value; whether power is the chip's or the board's depends on the card. */
export function seriesOf(card: ToolCard, { metric, labels }: ToolValue): Omit<CardChannel, "read"> {
  const isChip = metric === "power" && familyOf(card.deviceId ?? 0).power === "chip";
  return {
    metric: isChip ? gpu.chipPower : gpu[metric],
    labels,
  };
}

function describe(card: ToolCard, machine: string): Device {
  const id = card.uniqueId === undefined ? undefined : parseUniqueId(card.uniqueId);
  const { driver, vbios, partNumber } = card;
  const pciBusId = parsePciAddress(card.pciBusId ?? "");
  return {
    uuid:
      id === undefined
        ? fallbackUuid("amd", pciBusId ?? String(card.number), machine)
        : `GPU-${id}`,
    index: 0,
    vendor: "amd",
    model: card.model ?? "AMD GPU",
    simulated: false,
    pciBusId,
    driver,
    vbios,
    partNumber,
  };
}
