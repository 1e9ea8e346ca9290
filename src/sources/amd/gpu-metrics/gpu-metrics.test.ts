import { describe, expect, test } from "vitest";
import { noCaptures, publicCapture } from "../../../../test/captures/public.ts";
import { fuzz, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import { attributesBlob, metricsBlob } from "../../../../test/captures/metrics-blob.ts";
import { decodeGpuMetrics, placeMembers } from "./decode.ts";
import { EnergyStep } from "./energy.ts";
import { interpretGpuMetrics, type MetricsReadings } from "./interpret.ts";
import { metricsLayouts } from "./layouts.ts";
import { isThrottled, reportableReasons, throttleOf } from "./throttle.ts";

function readings(bytes: Buffer): MetricsReadings {
  const decoded = decodeGpuMetrics(bytes);
  if (!decoded.ok) throw new Error(`not decoded: ${decoded.reason}`);
  return interpretGpuMetrics(decoded.value);
}

test.each(metricsLayouts.map((layout) => [layout.version, layout.sizeBytes, layout] as const))(
  "layout %s is %d bytes as a C compiler lays it out",
  (_version, sizeBytes, layout) => expect(placeMembers(layout.members).sizeBytes).toBe(sizeBytes),
);

/** Offsets calculated by hand from the kernel's header. */
test.each([
  ["1.0", 80, { temperatureEdge: 16, socketPower: 34, energy: 36, fanRpm: 72, pcieSpeed: 75 }],
  ["1.3", 120, { socketPower: 22, energy: 24, currentGfxClock: 54, fanRpm: 72, pcieWidth: 74 }],
  ["1.3", 120, { temperatureHbm: 88, socVoltage: 104, independentThrottle: 112 }],
  ["1.4", 288, { socketPower: 10, vcnActivity: 16, energy: 24, pcieWidth: 48, pcieReplays: 88 }],
  ["1.4", 288, { xgmiRead: 104, xgmiWritten: 168, currentGfxClock: 240, currentMemoryClock: 280 }],
  ["1.4", 288, { pcieRecoveries: 80, pcieReplayRollovers: 96 }],
  ["1.6", 1_664, { pcieRecoveries: 96, pcieReplayRollovers: 112, pcieNaksSent: 120 }],
  ["1.6", 384, { energy: 88, accumulations: 104, residencyPowerCap: 112, pcieWidth: 132 }],
  ["1.6", 1_664, { energy: 16, accumulations: 32, residencyPowerCap: 40, pcieWidth: 60 }],
  ["1.6", 1_664, { xgmiRead: 128, currentGfxClock: 264, currentMemoryClock: 304, partitions: 306 }],
  [
    "1.8",
    3_872,
    { memoryMaxBandwidth: 16, xgmiStatus: 264, currentGfxClock: 296, partitions: 338 },
  ],
  ["2.1", 120, { gfxActivity: 28, socketPower: 40, averageGfxClock: 64, currentGfxClock: 76 }],
  ["2.2", 128, { independentThrottle: 120 }],
  ["2.4", 168, { socVoltage: 154, gfxVoltage: 156 }],
  ["3.0", 264, { temperatureSkin: 40, socketPower: 112, ipuPower: 116, gfxPower: 124 }],
  ["3.0", 264, { averageGfxClock: 174, averageMemoryClock: 186, residencyProchot: 228 }],
])("members of %s (%d bytes) are where the kernel puts them", (version, sizeBytes, offsets) => {
  const layout = metricsLayouts.find(
    (candidate) => candidate.version === version && candidate.sizeBytes === sizeBytes,
  );
  const placed = placeMembers(layout?.members ?? []).placed;
  const found = Object.keys(offsets).map((name) => [
    name,
    placed.find(({ member }) => member[1] === name)?.offset,
  ]);
  expect(Object.fromEntries(found)).toEqual(offsets);
});

test("a card's table is whole °C, W and MHz, and what it leaves at all-ones is not reported", () => {
  const reported = readings(
    metricsBlob("1.3", {
      temperatureEdge: 61,
      temperatureHotspot: 74,
      gfxActivity: 99,
      socketPower: 263,
      currentGfxClock: 2_420,
      fanRpm: 1_450,
      memoryVoltage: 1_350,
      independentThrottle: [1, 0, 0, 0],
    }),
  );
  expect(reported.temperatureCelsius).toMatchObject({ edge: 61, hotspot: 74, memory: undefined });
  expect(reported).toMatchObject({ utilizationRatio: 0.99, powerWatts: 263, fanRpm: 1_450 });
  expect(reported.clockHertz).toMatchObject({ graphics: 2.42e9, memory: undefined });
  expect(reported.voltageVolts).toEqual({ gfx: undefined, soc: undefined, memory: 1.35 });
  expect(reported.energySteps).toBeUndefined();
});

test("an APU's table is 0.01 °C and mW; the junk its system power holds is not read", () => {
  const reported = readings(
    metricsBlob("3.0", {
      temperatureGfx: 5_312,
      temperatureSkin: 3_650,
      socketPower: 28_400,
      gfxPower: 11_250,
      coresPower: 9_000,
      gfxActivity: 45,
      averageGfxClock: 2_100,
    }),
  );
  expect(reported.isApu).toBe(true);
  expect(reported.temperatureCelsius).toMatchObject({ edge: 53.12, skin: 36.5 });
  expect(reported.railPowerWatts).toEqual({ cpu: 9, gfx: 11.25, soc: undefined, npu: undefined });
  expect(reported).toMatchObject({ powerWatts: 28.4, utilizationRatio: 0.45 });
});

test.each([
  ["2.1", 7_900, 0.79],
  ["2.1", 79, 0.0079],
  ["2.2", 100, 1],
  ["2.2", 4_200, 0.42],
  ["1.3", 64, 0.64],
])("activity in version %s: %d is %d", (version, gfxActivity, ratio) =>
  expect(readings(metricsBlob(version, { gfxActivity })).utilizationRatio).toBe(ratio),
);

test("an Instinct's table gives the fastest die, its links and its partitions", () => {
  const reported = readings(
    metricsBlob("1.8", {
      currentGfxClock: [2_100, 132, 133, 2_050],
      xgmiRead: [10, 20],
      xgmiWritten: [30, 40],
      xgmiStatus: [1, 0, 2],
      partitions: 8,
      pcieSpeed: 320,
      pcieWidth: 16,
    }),
  );
  expect(reported.clockHertz.graphics).toBe(2.1e9);
  expect(reported.partitions).toBe(8);
  expect(reported.pcieGigatransfers).toBe(32);
  expect(reported.xgmi).toEqual([
    { link: 0, readBytes: 10_240, writtenBytes: 30_720, isUp: true },
    { link: 1, readBytes: 20_480, writtenBytes: 40_960, isUp: false },
  ]);
});

test("activity of compute dies is read over all partitions, without those that a partition lacks", () => {
  const none = 0xffff_ffff;
  const two = [100, 60, none, none, none, none, none, none, 7, 0];
  for (const version of ["1.7", "1.8"])
    expect(readings(metricsBlob(version, { dieActivity: two })).dieRatios).toEqual([
      1, 0.6, 0.07, 0,
    ]);
  expect(readings(metricsBlob("1.6", { dieActivity: [5] }, 1_664)).dieRatios).toEqual([0.05]);
  expect(readings(metricsBlob("1.6", {}, 384)).dieRatios).toEqual([]);
});

test("version 1.9 is read by its own description, unknown attributes are stepped over", () => {
  const reported = readings(
    attributesBlob([
      { id: 900, unit: 0, type: 6, values: [1, 2, 3] },
      { id: 3, unit: 3, type: 2, values: [742] },
      { id: 33, unit: 1, type: 2, values: [1_900, 2_000] },
      { id: 17, unit: 6, type: 4, values: [32] },
      { id: 0, unit: 2, type: 3, values: [0xffff] },
      { id: 40, unit: 0, type: 4, values: [93, 0xffff_ffff] },
    ]),
  );
  expect(reported).toMatchObject({ powerWatts: 742, pcieGigatransfers: 32, dieRatios: [0.93] });
  expect(reported.clockHertz.graphics).toBe(2e9);
  expect(reported.temperatureCelsius.hotspot).toBeUndefined();
});

test.each([
  ["nothing", Buffer.alloc(0), "failed"],
  ["a size of 0", Buffer.from([0, 0, 1, 3, 0, 0, 0, 0]), "failed"],
  ["a size beyond the file", Buffer.from([0x78, 0, 1, 3, 0, 0]), "failed"],
  [
    "a known version with a size of its own",
    Buffer.alloc(200, 0).fill(Buffer.from([200, 0, 1, 3]), 0, 4),
    "unsupported",
  ],
  ["a version nobody knows", Buffer.from([8, 0, 9, 9, 0, 0, 0, 0]), "unsupported"],
  ["1.9 with a count beyond its end", Buffer.from([8, 0, 1, 9, 255, 0, 0, 0]), "failed"],
])("%s is refused", (_what, bytes, reason) =>
  expect(decodeGpuMetrics(bytes)).toEqual({ ok: false, reason }),
);

test.each([
  [[1, 0, 0, 0], ["power_cap"]],
  [[0, 4, 0, 0], ["current"]],
  [[0, 0, 1 << 4, 0], ["thermal"]],
  [[0, 0, 1 << 15, 0], ["thermal_hardware"]],
  [[0, 0, 0, 1 << 8], ["power_cap"]],
  [[0, 0, 0, 1 << 9], ["reliability"]],
  [[0, 0, 0, 0], []],
])("independent throttle groups %j say %j", (independentThrottle, reasons) => {
  const { throttle } = readings(metricsBlob("1.3", { independentThrottle }));
  expect(throttle?.kind === "bits" && [...throttle.active]).toEqual(reasons);
});

test("a residency that grew is active, one that stood still is not, one never compared is unknown", () => {
  const at = (residencyPowerCap: number, residencyThermal: number) =>
    readings(metricsBlob("1.7", { residencyPowerCap, residencyThermal })).throttle;
  const before = at(100, 5);
  const now = at(140, 5);
  if (now === undefined) throw new Error("no throttle");
  expect(reportableReasons(now)).toEqual(["power_cap", "thermal"]);
  expect(isThrottled("power_cap", now, before)).toBe(true);
  expect(isThrottled("thermal", now, before)).toBe(false);
  expect(isThrottled("power_cap", now, undefined)).toBeUndefined();
});

test("the chip's own throttle bits are left alone", () => {
  const decoded = decodeGpuMetrics(metricsBlob("1.1", {}));
  expect(decoded.ok && throttleOf(decoded.value)).toBeUndefined();
});

test.each([
  ["mJ", 1_000, 0.001],
  ["15.259 µJ", 65_536, 2 ** -16],
])(
  "an energy counter in %s is recognised by the card's own power",
  (_unit, stepsPerJoule, step) => {
    const energy = new EnergyStep();
    const reported = Array.from({ length: 8 }, (_, second) =>
      energy.read(second * 1_000, second * 30 * stepsPerJoule, 30),
    );
    expect(reported[1]).toBeUndefined();
    expect(reported.at(-1)).toBeCloseTo(7 * 30 * stepsPerJoule * step, 6);
  },
);

test("an energy counter that fits no known step is never guessed", () => {
  const energy = new EnergyStep();
  for (let second = 0; second < 100; second++) {
    expect(energy.read(second * 1_000, second * 30 * 8_000, 30)).toBeUndefined();
  }
});

describe("captures from ../shared/captures/public", () => {
  test.skipIf(noCaptures)("an RX 6900 XT's table gives its real values", () => {
    const reported = readings(publicCapture("gpu_metrics", "lact_rx6900xt.bin"));
    const { edge, hotspot, memory, vrm, vrm_soc, vrm_memory, soc } = reported.temperatureCelsius;
    expect([edge, hotspot, memory, vrm, vrm_soc, vrm_memory, soc]).toEqual([
      56,
      59,
      54,
      49,
      49,
      51,
      undefined,
    ]);
    expect(reported.clockHertz).toMatchObject({ graphics: 5e8, memory: 1e9, soc: 8e8, video: 0 });
    expect(reported.voltageVolts).toEqual({ soc: 0.818, gfx: 0.775, memory: 1.356 });
    expect(reported).toMatchObject({
      utilizationRatio: 0.03,
      powerWatts: 36,
      energySteps: 17_691_682,
    });
    expect(reported).toMatchObject({ pcieGigatransfers: 16, pcieWidth: 16, fanRpm: 0 });
  });

  test.skipIf(noCaptures)("an RX 7800 XT's table gives its real values", () => {
    const reported = readings(publicCapture("gpu_metrics", "lact_rx7800xt.bin"));
    expect(reported.temperatureCelsius).toMatchObject({
      edge: 24,
      hotspot: 31,
      memory: 48,
      vrm: 34,
    });
    expect(reported).toMatchObject({
      powerWatts: 32,
      fanRpm: 868,
      energySteps: 0,
      utilizationRatio: 0.24,
    });
    expect(reported.clockHertz).toMatchObject({ graphics: 2.011e9, memory: 4.56e8, video: 2.5e7 });
  });

  test.skipIf(noCaptures)("MangoHud's card is at 64 %, 33 W, 2165 MHz, 36 °C", () => {
    const reported = readings(publicCapture("gpu_metrics", "mangohud_gpu_metrics.bin"));
    expect(reported).toMatchObject({
      utilizationRatio: 0.64,
      powerWatts: 33,
      pcieGigatransfers: 8,
      pcieWidth: 8,
    });
    expect(reported.clockHertz.graphics).toBe(2.165e9);
    expect(reported.temperatureCelsius.edge).toBe(36);
  });

  test.skipIf(noCaptures)(
    "MangoHud's APU is at 100 %, 6.161 W, 9.235 W, 1040 MHz, 81.75 °C and held by its power limits",
    () => {
      const reported = readings(publicCapture("gpu_metrics", "mangohud_gpu_metrics_apu.bin"));
      expect(reported.utilizationRatio).toBe(1);
      expect(reported.railPowerWatts).toEqual({
        cpu: 9.235,
        gfx: 6.161,
        soc: 1.083,
        npu: undefined,
      });
      expect(reported.clockHertz).toMatchObject({ graphics: 1.04e9, memory: 6.87e8 });
      expect(reported.temperatureCelsius).toMatchObject({ edge: 81.75, soc: 71 });
      expect(reported.throttle?.kind === "bits" && [...reported.throttle.active]).toEqual([
        "power_cap",
      ]);
    },
  );

  test.skipIf(noCaptures)("a Phoenix APU is at 25 °C, 3.401 W and 0.79 %", () => {
    const reported = readings(publicCapture("gpu_metrics", "lact_phoenix.bin"));
    expect(reported).toMatchObject({
      powerWatts: 3.401,
      utilizationRatio: 0.0079,
      fanRpm: undefined,
    });
    expect(reported.railPowerWatts).toEqual({
      cpu: undefined,
      gfx: 0.585,
      soc: 0.743,
      npu: undefined,
    });
    expect(reported.temperatureCelsius).toMatchObject({ edge: 25, soc: 27.37 });
    expect(reported.clockHertz).toMatchObject({ graphics: 8e8, fabric: 4e8, memory: 4e8 });
    expect(reported.throttle).toBeUndefined();
  });

  test.skipIf(noCaptures)("the invalid table is refused", () =>
    expect(
      decodeGpuMetrics(publicCapture("gpu_metrics", "mangohud_gpu_metrics_invalid.bin")),
    ).toEqual({ ok: false, reason: "failed" }),
  );
});

test(
  "whatever the bytes, a table is read or refused",
  async () => {
    const samples = metricsLayouts.map(({ version, sizeBytes }) =>
      metricsBlob(
        version,
        { gfxActivity: 50, socketPower: 100, independentThrottle: [1, 2, 3, 4] },
        sizeBytes,
      ),
    );
    samples.push(attributesBlob([{ id: 3, unit: 3, type: 2, values: [742] }]));
    await fuzz({
      seed: 0xa3d,
      samples,
      parse: (bytes) => {
        const decoded = decodeGpuMetrics(bytes);
        return decoded.ok ? interpretGpuMetrics(decoded.value) : decoded.reason;
      },
    });
  },
  fuzzTimeoutMs,
);
