import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { relabelExamples } from "../../../test/relabel/examples.ts";
import { labelSet } from "../../model/labels.ts";
import { relabel } from "./relabel.ts";
import { compileRule, type RelabelInput } from "./rule.ts";

test.each(relabelExamples)("$says", ({ rules, before, after }) => {
  const out = relabel(
    labelSet(before),
    rules.map((rule) => compileRule(rule)),
  );
  expect(out).toEqual(after === undefined ? undefined : labelSet(after));
});

test("hashmod is the last eight bytes of the md5, as an unsigned number", () => {
  for (const text of ["", "a", "10.0.0.7:9100", "größe"]) {
    const digest = createHash("md5").update(text).digest("hex").slice(16);
    const want = String(BigInt(`0x${digest}`) % 97n);
    const rule = compileRule({
      source_labels: ["x"],
      modulus: 97,
      target_label: "h",
      action: "hashmod",
    });
    expect(relabel(labelSet({ x: text }), [rule])).toEqual(labelSet({ h: want, x: text }));
  }
});

test("what is relabelled is not changed itself", () => {
  const before = labelSet({ a: "1", b: "2" });
  const copy = structuredClone(before);
  relabel(before, [compileRule({ regex: "a", action: "labeldrop" })]);
  expect(before).toEqual(copy);
});

const refused: readonly (readonly [RelabelInput, RegExp])[] = [
  [{ action: "replase" }, /not a relabelling action.*"replace"/],
  [{ action: "" }, /not a relabelling action/],
  [{}, /replace needs a target_label/],
  [{ action: "hashmod", target_label: "h" }, /hashmod needs a modulus/],
  [{ action: "hashmod", modulus: 4 }, /hashmod needs a target_label/],
  [{ action: "lowercase" }, /needs a target_label/],
  [{ action: "uppercase", target_label: "a", replacement: "x" }, /takes no replacement/],
  [{ action: "keepequal" }, /needs a target_label/],
  [
    { action: "keepequal", target_label: "a", regex: "x" },
    /takes only source_labels and target_label, not regex/,
  ],
  [
    { action: "dropequal", target_label: "a", separator: "-", modulus: 3 },
    /not separator, modulus/,
  ],
  [{ action: "labeldrop", source_labels: ["a"] }, /takes only a regex, not source_labels/],
  [{ action: "labelkeep", regex: "a", target_label: "x" }, /takes only a regex, not target_label/],
  [{ action: "labelmap", replacement: "" }, /labelmap needs a replacement/],
  [{ target_label: "a", regex: "(" }, /regex "\(" is not valid/],
  [{ target_label: "a", regex: "(?=look)" }, /regex .* is not valid/],
  [{ target_label: "a", source_labels: [""] }, /not a label name/],
];

test.each(refused)("%j is refused", (given, says) => {
  expect(() => compileRule(given)).toThrow(says);
});

test("what equals the default is as good as not given", () => {
  compileRule({
    action: "keepequal",
    target_label: "a",
    regex: "(.*)",
    separator: ";",
    replacement: "$1",
  });
});
