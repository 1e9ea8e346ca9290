/** The report of a sender process about its hosts, and the sum of several reports. */
export interface SenderReport {
  hosts: number;
  ticks: number;
  /** Samples passed to the agent's push code, and samples acknowledged by the hub. */
  written: number;
  sent: number;
  /** Samples rejected for good, and dropped from a full spool: lost. */
  refused: number;
  dropped: number;
  /** Frames waiting in spools. */
  waiting: number;
  retries: number;
  /** The age of the oldest waiting frame. */
  lagSeconds: number;
  /** Errors from the hub or the network for hosts that have to retry, with counts. */
  problems: Record<string, number>;
}

export const noReport = (): SenderReport => ({
  hosts: 0,
  ticks: 0,
  written: 0,
  sent: 0,
  refused: 0,
  dropped: 0,
  waiting: 0,
  retries: 0,
  lagSeconds: 0,
  problems: {},
});
