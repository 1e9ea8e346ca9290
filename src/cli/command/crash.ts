/**
 * How every executable ends on what nobody caught: by its stack alone. Node would print all that hangs on the error, and that
 * may be a request with its credentials.
 */

/** A command that has to restore the terminal first, as top does, adds a listener and exits by itself. */
export function printCrashesBriefly(): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const)
    process.on(event, (thrown: unknown) => {
      if (process.listenerCount(event) > 1) return;
      const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      process.stderr.write(`gpulse: BUG: ${text}\n`);
      process.exit(1);
    });
}
