// The start order of services: dependencies come first. The stop order is the reverse.

import { type Declared, isSkipped } from "./service.ts";

/** @throws Error for an unknown name, a duplicate name, and a cycle. */
export function inOrder<One extends Declared>(declared: readonly One[]): readonly One[] {
  const byName = new Map(declared.map((one) => [one.name, one]));
  if (byName.size !== declared.length) throw new Error("BUG: two services have the same name");
  const placed: One[] = [];
  const place = (one: One, above: readonly string[]): void => {
    if (placed.includes(one)) return;
    if (above.includes(one.name))
      throw new Error(`BUG: ${[...above, one.name].join(" needs ")}: a circle`);
    for (const name of isSkipped(one) ? [] : one.dependsOn) {
      const needed = byName.get(name);
      if (needed === undefined)
        throw new Error(`BUG: ${one.name} depends on ${name}, which is not declared`);
      place(needed, [...above, one.name]);
    }
    placed.push(one);
  };
  for (const one of declared) place(one, []);
  return placed;
}

/** A service whose dependency cannot run is skipped too, with the missing dependency as the reason. */
export function withSkips(declared: readonly Declared[]): readonly Declared[] {
  const skipped = new Map<string, string>();
  const found = new Map<string, Declared>();
  for (const one of inOrder(declared)) {
    if (isSkipped(one)) skipped.set(one.name, one.skipped);
    const missed = isSkipped(one) ? undefined : one.dependsOn.find((name) => skipped.has(name));
    if (missed !== undefined) skipped.set(one.name, `needs ${missed}`);
    const { name, summary } = one;
    const reason = skipped.get(name);
    found.set(name, reason === undefined ? one : { name, summary, skipped: reason });
  }
  return declared.flatMap(({ name }) => found.get(name) ?? []);
}
