/** Failures as Alertmanager's API answers them: a sentence alone, or what its schema check says with a code of its own. */

export class V2Failure extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: number,
    sentence: string,
    body: unknown = sentence,
    retryAfterSeconds?: number,
  ) {
    super(sentence);
    this.status = status;
    this.body = body;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const coded = (status: number, code: number, message: string): V2Failure =>
  new V2Failure(status, message, { code, message });

export const tooMany = (
  status: 413 | 429,
  message: string,
  retryAfterSeconds?: number,
): V2Failure => new V2Failure(status, message, { code: status, message }, retryAfterSeconds);

export const badRequest = (sentence: string): V2Failure => new V2Failure(400, sentence);
export const unreadable = (what: string, why: string): V2Failure =>
  coded(400, 400, `parsing ${what} body from "" failed, because ${why}`);
export const missing = (name: string): V2Failure => coded(422, 602, `${name} in body is required`);
export const tooFew = (name: string): V2Failure =>
  coded(422, 612, `${name} in body should have at least 1 items`);
export const noUuid = (given: string): V2Failure =>
  coded(422, 601, `silenceID in path must be of type uuid: ${JSON.stringify(given)}`);
export const noUri = (name: string, given: string): V2Failure =>
  coded(422, 601, `${name} in body must be of type uri: ${JSON.stringify(given)}`);
export const wrongMedia = (given: string): V2Failure =>
  coded(
    415,
    415,
    `unsupported media type ${JSON.stringify(given)}, only [application/json] are allowed`,
  );
export const elsewhere = (urls: readonly string[]): V2Failure =>
  coded(404, 404, `alerts of this hub are routed by ${urls.join(", ")}: ask there`);
