import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type GpuSleepState, SleepController, SleepFiles } from "./sleep.ts";

function sysfs(cards: Readonly<Record<string, Readonly<Record<string, string>>>>): SleepFiles {
  const root = mkdtempSync(join(tmpdir(), "gpulse-sleep-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [address, files] of Object.entries(cards)) {
    const folder = join(root, "bus/pci/devices", address);
    mkdirSync(join(folder, "power"), { recursive: true });
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, name), `${text}\n`);
  }
  return new SleepFiles(root);
}

const nvidia = { vendor: "0x10de", class: "0x030000" };
const mayBe = (runtime: string) => ({
  ...nvidia,
  "power/control": "auto",
  "power/runtime_status": runtime,
});

test("only NVIDIA's display controllers are looked at", () => {
  const files = sysfs({
    "0000:01:00.0": mayBe("suspended"),
    "0000:01:00.1": { vendor: "0x10de", class: "0x040300" },
    "0000:02:00.0": { vendor: "0x1002", class: "0x030000" },
  });
  expect(files.gpus()).toEqual(["0000:01:00.0"]);
  expect(new SleepFiles("/nowhere").gpus()).toEqual([]);
});

test.for([
  [{ a: mayBe("suspended") }, "asleep"],
  [{ a: mayBe("suspending") }, "asleep"],
  [{ a: mayBe("active") }, "awake"],
  [{ a: mayBe("suspended"), b: mayBe("active") }, "awake"],
  [{ a: mayBe("suspended"), b: { ...nvidia, "power/control": "on" } }, "always-on"],
  [{ a: { ...nvidia, "power/control": "on", "power/runtime_status": "suspended" } }, "always-on"],
  [{ a: nvidia }, "always-on"],
  [{}, "always-on"],
] as const)("%j together are %s", ([cards, wanted]) => {
  expect(sysfs(cards).together(Object.keys(cards))).toBe(wanted);
});

/** Advises every second while the GPU is idle; returns each advice other than `stay` with its time. */
function watch(
  doze: SleepController,
  seconds: readonly [from: number, to: number],
  state: GpuSleepState,
): string[] {
  const said: string[] = [];
  for (let second = seconds[0]; second < seconds[1]; second++) {
    const advice = doze.advise(second * 1_000, true, () => state);
    if (advice !== "stay") said.push(`${second} ${advice}`);
  }
  return said;
}

test("an idle GPU is let go after a minute, left asleep, and taken up when something else wakes it", () => {
  const doze = new SleepController();
  expect(watch(doze, [0, 61], "awake")).toEqual(["60 let-go"]);
  expect(watch(doze, [61, 80], "awake")).toEqual([]);
  expect(watch(doze, [80, 4_000], "asleep")).toEqual([]);
  expect(watch(doze, [4_000, 4_001], "awake")).toEqual(["4000 take-up"]);
  expect(doze.dozing).toBe(false);
});

test("one that somebody else keeps awake is taken up again, and not let go for half an hour", () => {
  const doze = new SleepController();
  expect(watch(doze, [0, 1_800], "awake")).toEqual(["60 let-go", "90 take-up"]);
  expect(watch(doze, [1_800, 2_000], "awake")).toEqual(["1950 let-go", "1980 take-up"]);
});

test("one that cannot sleep, or is busy, is never let go", () => {
  expect(watch(new SleepController(), [0, 1_000], "always-on")).toEqual([]);
  const busy = new SleepController();
  for (let second = 0; second < 1_000; second++)
    expect(busy.advise(second * 1_000, second % 59 !== 0, () => "awake")).toBe("stay");
});
