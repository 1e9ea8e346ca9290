/** Strings as numbers: every label name and value once. Ids count up from 0 and are never given to another string. */

export class Symbols {
  readonly #ids = new Map<string, number>();
  readonly #texts: string[] = [];
  #textBytes = 0;

  get count(): number {
    return this.#texts.length;
  }

  /** Roughly what the texts take in memory. */
  get textBytes(): number {
    return this.#textBytes;
  }

  intern(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    // A string cut out of a larger one keeps the larger one alive; a copy of its own does not.
    const own = Buffer.from(text, "utf8").toString("utf8");
    const id = this.#texts.push(own) - 1;
    this.#ids.set(own, id);
    this.#textBytes += own.length;
    return id;
  }

  /** Gives a number to no string: what stood under it is lost, and those after it must keep theirs. */
  skip(): number {
    return this.#texts.push("") - 1;
  }

  find(text: string): number | undefined {
    return this.#ids.get(text);
  }

  text(id: number): string {
    const text = this.#texts[id];
    if (text === undefined) throw new Error(`BUG: symbol ${id} does not exist`);
    return text;
  }
}
