/** Caches a fact that rarely changes, looked up once a minute per name. Names that no longer exist are dropped. */

const keptMs = 60_000;

export class FactCache<T> {
  readonly #nowMs: () => number;
  readonly #look: (name: string) => Promise<T>;
  #facts = new Map<string, T>();
  #sinceMs: number;

  constructor(nowMs: () => number, look: (name: string) => Promise<T>) {
    this.#nowMs = nowMs;
    this.#look = look;
    this.#sinceMs = nowMs();
  }

  async of(name: string): Promise<T> {
    if (this.#nowMs() - this.#sinceMs > keptMs) {
      this.#facts = new Map();
      this.#sinceMs = this.#nowMs();
    }
    const before = this.#facts.get(name);
    if (before !== undefined) return before;
    const fact = await this.#look(name);
    this.#facts.set(name, fact);
    return fact;
  }

  /** The names whose fact is true, in order. */
  async filter(names: readonly string[]): Promise<string[]> {
    const facts = await Promise.all(names.map((name) => this.of(name)));
    return names.filter((_, index) => facts[index] === true);
  }
}
