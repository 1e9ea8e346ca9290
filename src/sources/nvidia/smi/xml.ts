/**
 * Parses the XML that `nvidia-smi -q -x` writes: elements, one attribute at most, text, no namespaces, no CDATA. Bounded and
 * tolerant, since the text may be truncated; never throws. Not a general XML parser.
 */

export interface Element {
  readonly name: string;
  readonly attributes: string;
  readonly children: Element[];
  text: string;
}

const deepest = 32;
const mostElements = 200_000;
/**
 * Declarations, then `</name>`, `<name attributes>` and `<name/>`; any other `<` is text. No part of the pattern matches past the
 * next `<`.
 */
const tag = /<[?!][^<>]*>|<(\/?)([A-Za-z_][\w.-]*)([^<>]*?)(\/?)>/g;

export function parseXml(text: string): Element {
  const root: Element = { name: "", attributes: "", children: [], text: "" };
  const open: Element[] = [root];
  let from = 0;
  let count = 0;
  for (const match of text.matchAll(tag)) {
    const top = open.at(-1) ?? root;
    top.text += decode(text.slice(from, match.index));
    from = match.index + match[0].length;
    const [, closes, name, attributes = "", empty] = match;
    if (name === undefined) continue;
    if (closes === "/") {
      const at = open.findLastIndex((element) => element.name === name);
      // A closing tag without an opening one is ignored; a closing tag of an outer element closes the inner ones too.
      if (at > 0) open.length = at;
      continue;
    }
    if (++count > mostElements || open.length > deepest) continue;
    const element: Element = { name, attributes, children: [], text: "" };
    top.children.push(element);
    if (empty !== "/") open.push(element);
  }
  return root;
}

const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

function decode(text: string): string {
  return text.includes("&")
    ? text.replace(/&(\w+);/g, (all, name: string) => entities.get(name) ?? all)
    : text;
}

/** The first element along the path `a/b/c`. */
export function find(element: Element, path: string): Element | undefined {
  let at: Element | undefined = element;
  for (const name of path.split("/")) at = at?.children.find((child) => child.name === name);
  return at;
}

/** The trimmed text of the element at the path; undefined if it has child elements. */
export function textAt(element: Element, path: string): string | undefined {
  const found = find(element, path);
  return found === undefined || found.children.length > 0 ? undefined : found.text.trim();
}
