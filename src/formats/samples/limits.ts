/** How much one batch from outside may hold: whoever decodes stops there, before memory is taken for more. */

/** A sender that has more series sends them in parts; Prometheus sends 2,000 samples at a time. */
export const maxBatchSeries = 250_000;

/** More than 32 MiB hold of samples that say something; those that say nothing take two bytes each. */
export const maxBatchSamples = 2 ** 21;
/** Labels of all series, encoded: a label stated once for all entries of a request is stored with each of them. */
export const maxBatchLabelBytes = 32 * 2 ** 20;
/** As many families as are remembered. */
export const maxBatchMetadata = 50_000;
/** Parts that are not understood, told of one by one; more of them are no request of that kind. */
export const maxBadParts = 10_000;

export class BatchTooLargeError extends Error {
  constructor(what = `${maxBatchSeries} series`) {
    super(`the request has more than ${what}: send fewer at a time`);
  }
}
