/** Parses configured sources and opens them. */
import { type Component, parseComponent } from "../config/component.ts";
import { sources } from "./list.ts";
import type { Source, SourceContext, SourceDefinition } from "./source.ts";

/** A source as configured: a URL, or a mapping in gpulse.yaml. */
export type SourceSpec = string | Readonly<Record<string, unknown>>;

export function parseSource(spec: SourceSpec): Component<SourceDefinition> {
  return parseComponent({ noun: "source", unknown: "SOURCE_UNKNOWN", list: sources }, spec);
}

export interface OpenSource {
  readonly name: string;
  readonly source: Source;
}

/** Opens each source; a second source of one kind gets a number: sim, sim-2. */
export async function openSources(
  specs: readonly SourceSpec[],
  context: SourceContext,
): Promise<OpenSource[]> {
  const counts = new Map<string, number>();
  const opened: OpenSource[] = [];
  for (const { definition, options } of specs.map(parseSource)) {
    const count = (counts.get(definition.name) ?? 0) + 1;
    counts.set(definition.name, count);
    const name = count === 1 ? definition.name : `${definition.name}-${count}`;
    opened.push({ name, source: await definition.create(options, { ...context, ordinal: count }) });
  }
  return opened;
}

/**
 * Returns the sources to open, with `auto` replaced by the sources of this machine: every source that `auto` may select and that
 * finds something. A source that is also configured explicitly is not opened twice: `nvidia:?processes=true` and `auto` read
 * NVIDIA's GPUs once.
 */
export async function resolveAuto(
  specs: readonly SourceSpec[],
  context: SourceContext,
): Promise<SourceSpec[]> {
  const named = new Set(
    specs.filter((spec) => spec !== "auto").map((spec) => parseSource(spec).definition.name),
  );
  const found: SourceSpec[] = [];
  for (const spec of specs)
    found.push(...(spec === "auto" ? await detectSources(context, named) : [spec]));
  return found;
}

async function detectSources(
  context: SourceContext,
  named: ReadonlySet<string>,
): Promise<SourceSpec[]> {
  const found: SourceSpec[] = [];
  for (const definition of sources) {
    if (!definition.auto || named.has(definition.name)) continue;
    const { options } = parseSource(`${definition.name}:`);
    const { state } = await definition.doctor(options, context);
    if (state === "found") found.push(`${definition.name}:`);
  }
  return found;
}
