/** Parses Slurm's short form of node names: `n[1-3,07],login`, `rack[0-1]node[08-10]`. */

/** Slurm's own limit: a list that expands to more is refused, not truncated. */
const maxHosts = 65_536;

/** The names in order; undefined if the text is not a host list. `None assigned` and the empty text mean no nodes. */
export function parseHostList(text: string): readonly string[] | undefined {
  if (text === "" || text === "None assigned" || text === "(null)") return [];
  if (!/^(?:\[[^[\]]*\]|[^[\]])+$/.test(text)) return undefined;
  const hosts: string[] = [];
  for (const part of splitOutsideBrackets(text)) {
    const expanded = expand(part, maxHosts - hosts.length);
    if (expanded === undefined) return undefined;
    hosts.push(...expanded);
  }
  return hosts;
}

function splitOutsideBrackets(text: string): readonly string[] {
  return text.match(/(?:\[[^\]]*\]|[^,[])+/g) ?? [];
}

function expand(part: string, room: number): readonly string[] | undefined {
  let names: readonly string[] = [""];
  for (const [piece, ranges] of part.matchAll(/\[([^\]]*)\]|[^[\]]+/g)) {
    const endings = ranges === undefined ? [piece] : expandRanges(ranges, room);
    if (endings === undefined || names.length * endings.length > room) return undefined;
    names = names.flatMap((name) => endings.map((ending) => name + ending));
  }
  return names.every((name) => /^[\w.:-]{1,255}$/.test(name)) ? names : undefined;
}

/** `1-3,07`: the digits of a range's start determine the width. */
function expandRanges(ranges: string, room: number): readonly string[] | undefined {
  const numbers: string[] = [];
  for (const range of ranges.split(",")) {
    const [, from = "", to = from] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range) ?? [];
    if (from === "" || Number(to) < Number(from)) return undefined;
    if (Number(to) - Number(from) >= room - numbers.length) return undefined;
    for (let number = Number(from); number <= Number(to); number++)
      numbers.push(String(number).padStart(from.length, "0"));
  }
  return numbers;
}
