// Progress lines for the scripts, always on stderr so that a program's own stdout stays clean. Must never draw a spinner without
// a terminal.

const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_MS = 100;

/** An error whose message is sufficient for the user: no stack trace. */
export class PlainError extends Error {}

/** @param {number} ms */
export function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** @param {string} line */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs one step, prints what it does while it runs and its duration afterwards.
 * @template T
 * @param {string} doing
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(doing, work) {
  const startedMs = performance.now();
  const watched = process.stderr.isTTY && process.env.CI === undefined;
  if (!watched) say(`… ${doing}`);
  let frame = 0;
  const timer = watched
    ? setInterval(() => {
        const spin = SPINNER[frame++ % SPINNER.length];
        process.stderr.write(
          `\r\u001B[K${spin} ${doing} (${seconds(performance.now() - startedMs)})`,
        );
      }, SPINNER_MS)
    : undefined;
  try {
    const result = await work();
    clearInterval(timer);
    say(`${watched ? "\r\u001B[K" : ""}✓ ${doing} (${seconds(performance.now() - startedMs)})`);
    return result;
  } catch (error) {
    clearInterval(timer);
    say(`${watched ? "\r\u001B[K" : ""}✗ ${doing} (${seconds(performance.now() - startedMs)})`);
    throw error;
  }
}

/**
 * Runs a script's main function: a PlainError becomes one sentence, anything else keeps its stack.
 * @param {() => Promise<number | void>} main
 */
export async function runMain(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    if (error instanceof PlainError) say(`gpulse: ${error.message}`);
    else console.error(error);
    process.exitCode = 1;
  }
}
