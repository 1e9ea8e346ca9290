import { expect, test } from "vitest";
import { gpu, ml, self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { formatValue, PageWriter } from "./page.ts";

function frame(): Frame {
  const builder = new LayoutBuilder();
  const power = builder.add(gpu.power, labelSet({ uuid: "A", gpu: "0" }));
  const powerB = builder.add(gpu.power, labelSet({ uuid: "B", gpu: "1" }));
  const energy = builder.add(gpu.energy, labelSet({ uuid: "A" }));
  const info = builder.add(gpu.info, labelSet({ uuid: "A", model: 'odd "name" \\ and\nbreak' }));
  const bucket = builder.add(ml.stepDuration, labelSet({ le: "0.1" }), "_bucket");
  const writer = new FrameWriter(builder.build(), 1_000);
  writer.set(power, 83.25);
  writer.absent(powerB, "asleep");
  writer.set(energy, 12);
  writer.set(info, 1);
  writer.set(bucket, 3);
  return writer.finish();
}

test("text format: one header a family, absent readings left out, labels escaped", () => {
  expect(new PageWriter("text").write([frame()])).toBe(
    [
      `# HELP gpu_power_watts ${gpu.power.help}`,
      "# TYPE gpu_power_watts gauge",
      'gpu_power_watts{gpu="0",uuid="A"} 83.25',
      `# HELP gpu_energy_joules_total ${gpu.energy.help}`,
      "# TYPE gpu_energy_joules_total counter",
      'gpu_energy_joules_total{uuid="A"} 12',
      `# HELP gpu_info ${gpu.info.help}`,
      "# TYPE gpu_info gauge",
      'gpu_info{model="odd \\"name\\" \\\\ and\\nbreak",uuid="A"} 1',
      `# HELP ml_step_duration_seconds ${ml.stepDuration.help}`,
      "# TYPE ml_step_duration_seconds histogram",
      'ml_step_duration_seconds_bucket{le="0.1"} 3',
      "",
    ].join("\n"),
  );
});

test("OpenMetrics: families lose _total and _info, units are said, the page ends in EOF", () => {
  const page = new PageWriter("openmetrics").write([frame()]);
  expect(page).toContain("# TYPE gpu_energy_joules counter\n# UNIT gpu_energy_joules joules\n");
  expect(page).toContain('gpu_energy_joules_total{uuid="A"} 12\n');
  expect(page).toContain("# TYPE gpu info\n# HELP gpu ");
  expect(page.endsWith("# EOF\n")).toBe(true);
});

test("a family of two sources is one block, and a series reported twice stands once", () => {
  const page = new PageWriter("text").write([frame(), frame()]);
  expect(page.match(/# TYPE gpu_power_watts/g)).toHaveLength(1);
  expect(page.match(/^gpu_power_watts\{/gm)).toHaveLength(1);
});

test("a page follows its frames when layouts change", () => {
  const writer = new PageWriter("text");
  writer.write([frame()]);
  const builder = new LayoutBuilder();
  const slot = builder.add(self.cpu, []);
  const other = new FrameWriter(builder.build(), 2_000);
  other.set(slot, 1.5);
  expect(writer.write([other.finish()])).toContain("process_cpu_seconds_total 1.5\n");
});

test.each([
  [0.1 + 0.2, "0.30000000000000004"],
  [1e21, "1e+21"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
])("%d is written %s", (value, text) => expect(formatValue(value)).toBe(text));
