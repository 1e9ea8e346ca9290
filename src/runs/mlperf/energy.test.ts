import { expect, test } from "vitest";
import { fixtureRun } from "../../../test/fixtures/runs/runs.ts";
import { describeEnergy } from "./energy.ts";

test("energy is of the window of the result, and says what it is not", () => {
  const { run } = fixtureRun({ watts: 200, seconds: 10, work: 1_000 });
  const window = [run.startedMs + 2_000, run.startedMs + 6_000] as const;
  const document = describeEnergy({ ...run, result: { tool: "T", window, figures: [] } });
  expect(document).toMatchObject({
    notice: expect.stringContaining("not MLPerf Power") as unknown,
    measured: "window of the result",
    seconds: 4,
    tool: "T",
    joules: 2_000,
    joulesPerUnit: 2,
  });
  expect(describeEnergy(run)).toMatchObject({ measured: "whole command", meanWatts: 200 });
});

test("one GPU without energy leaves the sum unknown", () => {
  const { run } = fixtureRun();
  const [gpu] = run.devices;
  const devices = gpu === undefined ? [] : [gpu, { ...gpu, uuid: "other", energy: {} }];
  expect(describeEnergy({ ...run, devices })).not.toHaveProperty("joules");
  expect(describeEnergy({ ...run, devices: [] })).not.toHaveProperty("joules");
});
