/** The discoveries that ask again and again: at once, and then every so often, never twice at the same time. */
import type { DiscoveredGroup, Discovery } from "./group.ts";

/**
 * @param find returns the groups; undefined where they are the same as before, or nothing could be found out, which it
 * has told the log.
 */
export function createRefreshingDiscovery(
  everyMs: number,
  find: (signal: AbortSignal) => Promise<readonly DiscoveredGroup[] | undefined>,
): Discovery {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const run = async (
    emit: (groups: readonly DiscoveredGroup[]) => void,
    first: boolean,
  ): Promise<void> => {
    const groups = await find(closing.signal);
    if (closing.signal.aborted) return;
    if (groups !== undefined || first) emit(groups ?? []);
    timer = setTimeout(() => void run(emit, false), everyMs);
  };
  return {
    start: (emit) => void run(emit, true),
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
