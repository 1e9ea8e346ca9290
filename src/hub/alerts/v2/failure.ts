/** Errors in the format of Alertmanager's API: a plain sentence, or a schema violation with its own code. */

export class AlertmanagerApiError extends Error {
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

const coded = (status: number, code: number, message: string): AlertmanagerApiError =>
  new AlertmanagerApiError(status, message, { code, message });

export const tooMany = (
  status: 413 | 429,
  message: string,
  retryAfterSeconds?: number,
): AlertmanagerApiError =>
  new AlertmanagerApiError(status, message, { code: status, message }, retryAfterSeconds);

export const badRequest = (sentence: string): AlertmanagerApiError =>
  new AlertmanagerApiError(400, sentence);
export const unreadable = (what: string, why: string): AlertmanagerApiError =>
  coded(400, 400, `parsing ${what} body from "" failed, because ${why}`);
export const missing = (name: string): AlertmanagerApiError =>
  coded(422, 602, `${name} in body is required`);
export const tooFew = (name: string): AlertmanagerApiError =>
  coded(422, 612, `${name} in body should have at least 1 items`);
export const invalidUuid = (given: string): AlertmanagerApiError =>
  coded(422, 601, `silenceID in path must be of type uuid: ${JSON.stringify(given)}`);
export const invalidUri = (name: string, given: string): AlertmanagerApiError =>
  coded(422, 601, `${name} in body must be of type uri: ${JSON.stringify(given)}`);
export const unsupportedMediaType = (given: string): AlertmanagerApiError =>
  coded(
    415,
    415,
    `unsupported media type ${JSON.stringify(given)}, only [application/json] are allowed`,
  );
export const routedExternally = (urls: readonly string[]): AlertmanagerApiError =>
  coded(404, 404, `alerts of this hub are routed by ${urls.join(", ")}: ask there`);
