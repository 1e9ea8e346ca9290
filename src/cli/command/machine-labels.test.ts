import { expect, test } from "vitest";
import { machineLabelSettings } from "./machine-labels.ts";

test("labels of flags win over those of the file", () => {
  const labels = machineLabelSettings(["rack=b7", "note=a=b"], { rack: "a1", room: "2" });
  expect(labels).toEqual({ room: "2", rack: "b7", note: "a=b" });
});

test.each([
  ["rack", "rack=b7"],
  ["rack=", "1 to 200 characters"],
  ["ra ck=b", "letters, digits and _"],
  ["host=x", "a label that gpulse sets"],
  ["model=x", "a label that gpulse sets"],
  ["__name__=x", "a label that gpulse sets"],
])("--machine-label %s is refused with the reason", (given, reason) => {
  expect(() => machineLabelSettings([given], undefined)).toThrow(reason);
});
