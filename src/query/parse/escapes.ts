/** Reports invalid escapes of a quoted string, in Prometheus's words. Resolving them is quote.ts's work. */

export function checkEscapes(body: string, fail: (problem: string) => void): void {
  for (let at = body.indexOf("\\"); at >= 0; at = body.indexOf("\\", at)) {
    const letter = body[at + 1];
    if (letter === undefined) return fail("escape sequence not terminated");
    if (/["'abfnrtv\\]/.test(letter)) {
      at += 2;
      continue;
    }
    const shape = shapes[letter] ?? (/[0-7]/.test(letter) ? octal : undefined);
    if (shape === undefined) return fail(`unknown escape sequence ${unicode(letter)}`);
    const start = shape === octal ? at + 1 : at + 2;
    for (let index = 0; index < shape.digits; index++) {
      const digit = body[start + index];
      if (digit === undefined) return fail("escape sequence not terminated");
      if (!shape.allowed.test(digit)) {
        return fail(`illegal character ${unicode(digit)} in escape sequence`);
      }
    }
    const code = Number.parseInt(body.slice(start, start + shape.digits), shape === octal ? 8 : 16);
    if (code > shape.max || (code >= 0xd800 && code < 0xe000)) {
      return fail("escape sequence is an invalid Unicode code point");
    }
    at = start + shape.digits;
  }
}

interface Shape {
  readonly digits: number;
  readonly allowed: RegExp;
  readonly max: number;
}

const octal: Shape = { digits: 3, allowed: /[0-7]/, max: 255 };
const shapes: Readonly<Record<string, Shape>> = {
  x: { digits: 2, allowed: /[0-9a-fA-F]/, max: 255 },
  u: { digits: 4, allowed: /[0-9a-fA-F]/, max: 0x10ffff },
  U: { digits: 8, allowed: /[0-9a-fA-F]/, max: 0x10ffff },
};

/** Go's %#U. */
function unicode(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")} '${char}'`;
}
