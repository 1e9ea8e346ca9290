/** The source `fake:`, a vendor that gpulse does not include: the folder a new vendor adds, with one card and four readings. */
import * as v from "valibot";
import { gpu } from "../../../src/model/catalogue/index.ts";
import type { Device } from "../../../src/model/device.ts";
import { type Card, CardSource } from "../../../src/sources/cards.ts";
import { defineSource } from "../../../src/sources/source.ts";

export const fakeDevice: Device = {
  uuid: "FAKE-0001",
  index: 0,
  vendor: "fakecorp",
  model: "FakeCorp One",
  simulated: false,
  driver: "1.2.3",
};

const reading = (metric: (typeof gpu)[keyof typeof gpu], value: number) => ({
  metric,
  read: () => ({ ok: true, value }) as const,
});

const card: Card = {
  device: fakeDevice,
  key: "0",
  sleepState: async () => "awake",
  findChannels: async () => [
    reading(gpu.power, 42),
    reading(gpu.memoryUsed, 2 ** 30),
    reading(gpu.memoryTotal, 2 ** 33),
    reading(gpu.energy, 7),
  ],
  expected: [],
};

export const fake = defineSource({
  name: "fake",
  summary: "GPUs of a vendor that exists only in this test.",
  options: v.strictObject({}),
  examples: [{ url: "fake:", description: "its one GPU" }],
  auto: false,
  doctor: async () => ({ state: "found", says: "One.", devices: [fakeDevice] }),
  create: async (_options, { host, nowMs }) =>
    CardSource.open({ host, nowMs, discover: async () => [card] }),
});
