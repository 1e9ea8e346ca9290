/** The flag and key for labels of a machine, such as room and rack. */
import * as v from "valibot";
import { reservedInfoLabels } from "../../pipeline/transforms/info-labels.ts";
import { optionalKey, parseSetting } from "./setting.ts";

export type MachineLabels = Readonly<Record<string, string>>;

const takes = "label=value such as rack=b7";
const maxLabels = 20;
const maxCharacters = 200;

function labelName() {
  return v.pipe(
    v.string(takes),
    v.regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,99}$/, `${takes}: letters, digits and _ in the name`),
    v.check(
      (name) => !name.startsWith("__") && !reservedInfoLabels.has(name),
      ({ input }) => `another name: "${input}" is a label that gpulse sets`,
    ),
  );
}

function labelValue() {
  const text = `${takes}: 1 to ${maxCharacters} characters in the value`;
  return v.pipe(v.string(takes), v.trim(), v.minLength(1, text), v.maxLength(maxCharacters, text));
}

/** `rack=b7` */
function labelPair() {
  return v.pipe(
    v.string(takes),
    v.regex(/^[^=]+=/, takes),
    v.transform((given): [string, string] => {
      const at = given.indexOf("=");
      return [given.slice(0, at).trim(), given.slice(at + 1)];
    }),
    v.tuple([labelName(), labelValue()]),
  );
}

/** Key of gpulse.yaml. */
export const machineLabelsKey = optionalKey(
  v.pipe(
    v.record(labelName(), labelValue(), "a mapping of labels"),
    v.check((labels) => Object.keys(labels).length <= maxLabels, `at most ${maxLabels} labels`),
    v.metadata({ takes: "a mapping of labels" }),
  ),
  "Labels of this machine on `gpu_info` and `host_info`, such as `rack: b7`: see [rooms and racks](../guides/fleet.md#group-machines-by-room-and-rack).",
);

/** A flag overrides the file's label of the same name. */
export function machineLabelSettings(
  flags: readonly string[] | undefined,
  file: MachineLabels | undefined,
): MachineLabels {
  const given = (flags ?? []).map((text) => parseSetting(labelPair(), "--machine-label", text));
  return { ...file, ...Object.fromEntries(given) };
}
