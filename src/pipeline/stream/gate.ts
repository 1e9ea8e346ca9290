/** A lock with many shared holders (`pass`) or one exclusive holder (`alone`). */

export class Gate {
  #inside = 0;
  #closed: Promise<void> | undefined;
  #whenEmpty: (() => void) | undefined;

  /** Runs `work` as soon as no exclusive holder is active. */
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

  /** Blocks new holders, waits for the active ones, and runs `work` exclusively. Calling it from inside would deadlock. */
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
