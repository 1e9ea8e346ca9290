/** Terminal colours, or none. */

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

export function paint(colour: boolean): Paint {
  const code =
    (on: number, off: number) =>
    (text: string): string =>
      colour ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
  };
}
