// Something done again and again, never twice at the same moment.

export interface Loop {
  /** Waits for a turn that is under way. */
  stop(): Promise<void>;
}

/** At once, and then again that long after each end. What it may throw it must handle itself. */
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
