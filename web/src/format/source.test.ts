import { expect, test } from "vitest";
import { shortSource } from "./source.ts";

test("an exporter is named without its target, every other source as it is", () => {
  expect(shortSource("exporter:dcgm/gpu/node-1:9400/node-1")).toBe("dcgm");
  expect(shortSource("agent:node-1/nvidia")).toBe("agent:node-1/nvidia");
});
