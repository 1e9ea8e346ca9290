/**
 * The AMD cards as the tools tell them, for a machine whose /sys cannot be read. Asked in the background, far apart; a reading
 * is what was said last, and absent once that is too old. The tools wake a sleeping card, which is why /sys comes first.
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

const askEveryMs = 10_000;
const freshForMs = 35_000;
const deadlineMs = 10_000;

export interface ToolMachineOptions {
  readonly nowMs: () => number;
  /** Of `machineIdentity`, for cards whose unique id the tools do not print. */
  readonly machine: string;
  readonly path?: string;
}

export class ToolMachine {
  readonly #nowMs: () => number;
  readonly #machine: string;
  readonly #runner: ToolRunner;
  readonly #rocmRunner: ToolRunner;
  #cards: readonly ToolCard[] = [];
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor({ nowMs, machine, path }: ToolMachineOptions) {
    this.#nowMs = nowMs;
    this.#machine = machine;
    const options = { deadlineMs, ...(path === undefined ? {} : { path }) };
    this.#runner = new ToolRunner(options);
    this.#rocmRunner = new ToolRunner(options);
  }

  /** Waits for the first answer; later ones come by themselves. */
  async discover(): Promise<readonly Card[]> {
    this.#ask();
    if (this.#cards.length === 0) await this.#asking;
    return this.#cards.map((card) => this.#present(card));
  }

  #ask(): void {
    const timeMs = this.#nowMs();
    if (this.#asking !== undefined || timeMs - this.#askedAtMs < askEveryMs) return;
    this.#askedAtMs = timeMs;
    this.#asking = readAllCards(this.#runner, this.#rocmRunner, timeMs, this.#cards)
      .then((answer) => {
        if (!answer.ok) return undefined;
        this.#cards = answer.value;
        this.#toldAtMs = timeMs;
        return undefined;
      })
      .finally(() => {
        this.#asking = undefined;
      });
  }

  #present(card: ToolCard): Card {
    const device = describe(card, this.#machine);
    const now = (): ToolCard | undefined => {
      this.#ask();
      const isFresh = this.#nowMs() - this.#toldAtMs <= freshForMs;
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

/** The catalogue's series for a tool's value; power is the chip's or the board's by the card. */
export function seriesOf(card: ToolCard, { metric, labels }: ToolValue): Omit<CardChannel, "read"> {
  const isChip = metric === "power" && familyOf(card.deviceId ?? 0).power === "chip";
  return {
    metric: isChip ? gpu.chipPower : gpu[metric],
    ...(labels === undefined ? {} : { labels }),
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
    ...(pciBusId === undefined ? {} : { pciBusId }),
    ...(driver === undefined ? {} : { driver }),
    ...(vbios === undefined ? {} : { vbios }),
    ...(partNumber === undefined ? {} : { partNumber }),
  };
}
