/**
 * Handles uncaught errors in every executable by printing only the stack. Node would print all properties of the error, which
 * may include a request with its credentials.
 */

/** A command that has to restore the terminal first, such as top, adds its own listener and exits by itself. */
export function printCrashesBriefly(): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const)
    process.on(event, (thrown: unknown) => {
      if (process.listenerCount(event) > 1) return;
      const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      process.stderr.write(`gpulse: BUG: ${text}\n`);
      process.exit(1);
    });
}
