/** Decodes a terminal's bytes to events: keys, typed text, SGR mouse reports (`ESC [ < button ; column ; row M|m`). Pure. */

export type TerminalEvent =
  | { readonly kind: "key"; readonly name: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "click"; readonly column: number; readonly row: number }
  | {
      readonly kind: "wheel";
      readonly lines: -1 | 1;
      readonly column: number;
      readonly row: number;
    };

const finals: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  P: "f1",
  Z: "backtab",
};
const tildes: Readonly<Record<string, string>> = {
  "1": "home",
  "3": "delete",
  "4": "end",
  "5": "pageup",
  "6": "pagedown",
  "7": "home",
  "8": "end",
  "11": "f1",
};
const controls: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0003": "ctrl-c",
  "\f": "ctrl-l",
  "\u001a": "ctrl-z",
  "\u0015": "ctrl-u",
};

const ESC = "\u001b";
const mouse = new RegExp(`^${ESC}\\[<(\\d+);(\\d+);(\\d+)([Mm])`);
const sequence = new RegExp(`^${ESC}(?:\\[([\\d;]*)([A-Za-z~])|O([A-Z]))`);
/** Matches an incomplete sequence. */
const unfinished = new RegExp(`^${ESC}(?:\\[[<\\d;]*|O)?$`);

export interface ParsedInput {
  readonly events: readonly TerminalEvent[];
  /** The incomplete rest: to be prepended to the next bytes, or flushed as a lone Escape. */
  readonly rest: string;
}

export function parseInput(input: string, flush = false): ParsedInput {
  const events: TerminalEvent[] = [];
  let at = 0;
  while (at < input.length) {
    const left = input.slice(at);
    if (!flush && unfinished.test(left)) return { events, rest: left };
    const report = mouse.exec(left);
    if (report !== null) {
      const event = mouseEvent(Number(report[1]), Number(report[2]), Number(report[3]), report[4]);
      if (event !== undefined) events.push(event);
      at += report[0].length;
      continue;
    }
    const escape = sequence.exec(left);
    if (escape !== null) {
      const name =
        escape[2] === "~"
          ? tildes[(escape[1] ?? "").split(";", 1)[0] ?? ""]
          : finals[escape[2] ?? escape[3] ?? ""];
      if (name !== undefined) events.push({ kind: "key", name });
      at += escape[0].length;
      continue;
    }
    const [character = ""] = left;
    at += character.length;
    if (character === ESC) events.push({ kind: "key", name: "escape" });
    else if (controls[character] !== undefined)
      events.push({ kind: "key", name: controls[character] });
    else if (character >= " ") events.push({ kind: "text", text: character });
  }
  return { events, rest: "" };
}

function mouseEvent(
  button: number,
  column: number,
  row: number,
  end: string | undefined,
): TerminalEvent | undefined {
  if (end === "m") return undefined;
  const place = { column: column - 1, row: row - 1 };
  if (button === 0) return { kind: "click", ...place };
  if (button === 64) return { kind: "wheel", lines: -1, ...place };
  return button === 65 ? { kind: "wheel", lines: 1, ...place } : undefined;
}
