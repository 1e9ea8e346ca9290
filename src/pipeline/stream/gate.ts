/** Lets many writers through at once, or one that needs them all to be out: what it does then nobody else can cut across. */

export class Gate {
  #inside = 0;
  #closed: Promise<void> | undefined;
  #whenEmpty: (() => void) | undefined;

  /** Runs inside as soon as the gate is open. */
  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#closed !== undefined) await this.#closed;
    this.#inside++;
    try {
      return await work();
    } finally {
      this.#inside--;
      if (this.#inside === 0) this.#whenEmpty?.();
    }
  }

  /** Holds newcomers back, waits for those inside, and runs alone. Never called from inside. */
  async alone(work: () => Promise<void>): Promise<void> {
    while (this.#closed !== undefined) await this.#closed;
    let open = (): void => {};
    this.#closed = new Promise((resolve) => (open = resolve));
    try {
      if (this.#inside > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
      await work();
    } finally {
      this.#closed = undefined;
      this.#whenEmpty = undefined;
      open();
    }
  }
}
