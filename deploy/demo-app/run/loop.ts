// Repeats a task, never concurrently with itself.

export interface Loop {
  /** Waits for a run in progress. */
  stop(): Promise<void>;
}

/** Runs at once, and then again `pauseMs` after each end. `run` must handle its own errors. */
export function every(pauseMs: number, run: () => Promise<void>): Loop {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  const turn = async (): Promise<void> => {
    await run();
    if (!stopped) timer = setTimeout(again, pauseMs);
  };
  const again = (): void => {
    current = turn();
  };
  again();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await current;
    },
  };
}
