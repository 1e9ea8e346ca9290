/** How much one batch from outside may hold: whoever decodes stops there, before memory is taken for more. */

/** A sender that has more series sends them in parts; Prometheus sends 2,000 samples at a time. */
export const maxBatchSeries = 250_000;

export class BatchTooLarge extends Error {
  constructor() {
    super(`the request has more than ${maxBatchSeries} series: send fewer at a time`);
  }
}
