import { expect, test } from "vitest";
import { labelText, differingLabelNames } from "./label-text.ts";

const two = [
  { __name__: "x", host: "a", gpu: "0", uuid: "u0", job: "gpulse" },
  { __name__: "x", host: "a", gpu: "1", uuid: "u1", job: "gpulse" },
];

test("series are named by what differs, and a uuid is left out where index and host say enough", () => {
  expect(two.map((one) => labelText(one, differingLabelNames(two)))).toEqual([
    '{gpu="0"}',
    '{gpu="1"}',
  ]);
});

test("a uuid is named if it alone distinguishes two series", () => {
  const twins = two.map((one) => ({ ...one, gpu: "0" }));
  expect(differingLabelNames(twins)).toEqual(["uuid"]);
});

test("one series alone is named in full, and a number without labels is a value", () => {
  expect(
    labelText({ __name__: "up", job: "a" }, differingLabelNames([{ __name__: "up", job: "a" }])),
  ).toBe('up{job="a"}');
  expect(labelText({}, differingLabelNames([{}]))).toBe("value");
});
