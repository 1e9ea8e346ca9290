/** What a request may hold. Far above what an agent of ours sends; whatever is over is refused before room is made for it. */

export const limits = {
  nameBytes: 1_024,
  labelValueBytes: 16_384,
  helpBytes: 4_096,
  texts: 500_000,
  metrics: 10_000,
  series: 250_000,
  labels: 128,
  buckets: 1_000,
  devices: 100_000,
  capabilities: 64,
  records: 100_000,
  /** Over all frames of one request. */
  values: 5_000_000,
} as const;
