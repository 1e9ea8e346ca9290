/**
 * Resident memory of this process, or undefined. Node opens /proc/self/stat for it, which fails without a /proc and while
 * the process has no file descriptor left.
 */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}
