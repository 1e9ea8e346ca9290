/** What an OTLP resource is in labels: `job` and `instance` on every series, everything else on one `target_info`. */
import type { Label } from "../../../model/labels.ts";
import type { Attributes } from "./model.ts";
import { labelName } from "./names.ts";

const identifying = ["service.namespace", "service.name", "service.instance.id"];
/** Half of the look-back, so that a query finds it wherever it finds the samples it belongs to. */
const infoStepMs = 150_000;
/** A request that spans more has a clock that is wrong: only its end gets a target_info. */
const maxInfoSteps = 1_000;

export function identityLabels(attributes: Attributes): Label[] {
  const given = new Map(attributes);
  const namespace = given.get("service.namespace");
  const name = given.get("service.name");
  const instance = given.get("service.instance.id");
  const labels: Label[] = [];
  if (instance !== undefined && instance !== "") labels.push(["instance", instance]);
  if (name !== undefined && name !== "")
    labels.push(["job", namespace === undefined ? name : `${namespace}/${name}`]);
  return labels;
}

/** Attributes as labels, in order; those that become one name are joined, the identity wins over both. */
export function attributeLabels(attributes: Attributes, identity: readonly Label[]): Label[] {
  const labels = new Map<string, string>();
  for (const [key, value] of attributes) {
    const name = labelName(key);
    const before = labels.get(name);
    labels.set(name, before === undefined ? value : `${before};${value}`);
  }
  for (const [name, value] of identity) labels.set(name, value);
  return [...labels]
    .filter(([, value]) => value !== "")
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
}

export interface TargetInfo {
  readonly labels: readonly Label[];
  readonly timesMs: readonly number[];
}

/** None where it would say no more than `job` and `instance`, or could not be joined to anything. */
export function targetInfo(
  attributes: Attributes,
  identity: readonly Label[],
  firstMs: number,
  lastMs: number,
): TargetInfo | undefined {
  const others = attributes.filter(([key]) => !identifying.includes(key));
  if (others.length === 0 || identity.length === 0) return undefined;
  const timesMs: number[] = [];
  if ((lastMs - firstMs) / infoStepMs <= maxInfoSteps)
    for (let timeMs = firstMs; timeMs < lastMs; timeMs += infoStepMs) timesMs.push(timeMs);
  timesMs.push(lastMs);
  return { labels: attributeLabels(others, identity), timesMs };
}
