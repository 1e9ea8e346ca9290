/** Interned strings: every label name and value has one id. Ids count up from 0 and are never reused for another string. */

export class Symbols {
  readonly #ids = new Map<string, number>();
  readonly #texts: string[] = [];
  #textBytes = 0;

  get count(): number {
    return this.#texts.length;
  }

  /** Approximate memory of the strings. */
  get textBytes(): number {
    return this.#textBytes;
  }

  intern(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    // A substring keeps the larger string alive; a copy does not.
    const own = Buffer.from(text, "utf8").toString("utf8");
    const id = this.#texts.push(own) - 1;
    this.#ids.set(own, id);
    this.#textBytes += own.length;
    return id;
  }

  /** Uses up an id without a string: its string is lost, and later ones must keep their ids. */
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
