// A small parser of the flowcharts in our pages, to detect diagrams that would not be rendered. It supports the parts of the
// language that we use and rejects the rest, so that diagrams stay simple.

const NODE = /^([A-Za-z]\w*)(?:\["([^"]*)"\])?/;
const ARROW = /^\s*(?:--\s+(?:"[^"]*"|[^"\]-][^-]*?)\s+-->|-->)\s*/;
const GROUP = /^subgraph ([A-Za-z]\w*)(?:\["[^"]*"\])?$/;

/** The errors of a flowchart, one sentence each. */
export function chartMistakes(code: string): string[] {
  const [head = "", ...lines] = code.split("\n").map((line) => line.trim());
  if (!/^flowchart (?:LR|TB)$/.test(head))
    return [`it begins with "${head}", not with flowchart LR or TB`];
  const declared = new Set<string>();
  const used = new Set<string>();
  const mistakes: string[] = [];
  let open = 0;
  for (const line of lines.filter((one) => one !== "")) {
    const group = GROUP.exec(line);
    if (group !== null) {
      open++;
      declared.add(group[1] ?? "");
    } else if (line === "end") {
      if (--open < 0) mistakes.push("an end closes nothing");
    } else mistakes.push(...chain(line, declared, used));
  }
  if (open > 0) mistakes.push("a subgraph has no end");
  for (const name of used)
    if (!declared.has(name)) mistakes.push(`${name} is used and not declared`);
  return mistakes;
}

function chain(line: string, declared: Set<string>, used: Set<string>): string[] {
  let rest = line;
  for (;;) {
    const [node, name = "", label] = NODE.exec(rest) ?? [];
    if (node === undefined) return [`no node at "${rest}" in "${line}"`];
    if (label === undefined) used.add(name);
    else if (declared.has(name)) return [`${name} is declared twice`];
    else declared.add(name);
    rest = rest.slice(node.length);
    if (rest === "") return [];
    const arrow = ARROW.exec(rest)?.[0];
    if (arrow === undefined) return [`no arrow at "${rest}" in "${line}"`];
    rest = rest.slice(arrow.length);
  }
}
