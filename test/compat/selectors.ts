// Just enough of PromQL and of the text format to see whether an expression's series are on a page. What the values
// come to is the business of the real Prometheus, in test/engines.

export interface Selector {
  readonly name: string | RegExp;
  readonly labels: readonly (readonly [name: string, value: RegExp, isNegated: boolean])[];
}

export interface PageSample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const words = new Set(
  "by on group_left sum max min avg group count vector rate delta increase time".split(" "),
);

/** Every selector of the expression: `name{a="b",c=~"d"}`, a bare name, or `{__name__=~"…"}`. */
export function selectorsOf(expression: string): Selector[] {
  const found: Selector[] = [];
  const plain = expression.replaceAll(/\b(by|on|group_left) \([^)]*\)/g, "");
  for (const match of plain.matchAll(/([a-zA-Z_]\w*)?\{([^}]*)\}|[a-zA-Z_]\w*/g)) {
    const [whole, name, inside = ""] = match;
    if (name === undefined && inside === "" && (words.has(whole) || whole.length < 5)) continue;
    const labels = [...inside.matchAll(/(\w+)(=~?|![=~])"([^"]*)"/g)].map(
      ([, label = "", operator = "", value = ""]) => {
        const pattern = operator.endsWith("~") ? new RegExp(`^(?:${value})$`) : exactly(value);
        return [label, pattern, operator.startsWith("!")] as const;
      },
    );
    const byName = labels.find(([label]) => label === "__name__")?.[1];
    found.push({
      name: byName ?? name ?? whole,
      labels: labels.filter(([label]) => label !== "__name__"),
    });
  }
  return found;
}

const exactly = (text: string): RegExp =>
  new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);

export function finds(selector: Selector, page: readonly PageSample[]): boolean {
  return page.some(
    ({ name, labels }) =>
      (typeof selector.name === "string" ? selector.name === name : selector.name.test(name)) &&
      selector.labels.every(
        ([label, value, isNegated]) => value.test(labels.get(label) ?? "") !== isNegated,
      ),
  );
}

export function parsePage(text: string): PageSample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const parts = /^([a-zA-Z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (parts === null) throw new Error(`not a sample: ${line}`);
      const [, name = "", inside = "", value] = parts;
      const labels = [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
        ([, label = "", text_ = ""]) => [label, text_] as const,
      );
      return { name, labels: new Map(labels), value: Number(value) };
    });
}
