/**
 * Resident memory of this process, or undefined. Node reads it from /proc/self/stat, which fails without /proc and while the
 * process has no file descriptor left.
 */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}
