/** Errors in the format of the Prometheus API: a type, a status and a sentence. */

export type ApiErrorType =
  | "bad_data"
  | "execution"
  | "timeout"
  | "canceled"
  | "internal"
  | "unavailable"
  | "not_found";

const statusOf: Record<ApiErrorType, number> = {
  bad_data: 400,
  execution: 422,
  timeout: 503,
  canceled: 503,
  internal: 500,
  unavailable: 503,
  not_found: 404,
};

export class PrometheusApiError extends Error {
  readonly type: ApiErrorType;
  readonly status: number;

  /** `status` overrides the default, such as 413 for a large body. */
  constructor(type: ApiErrorType, message: string, status = statusOf[type]) {
    super(message);
    this.type = type;
    this.status = status;
  }

  get body(): string {
    return JSON.stringify({ status: "error", errorType: this.type, error: this.message });
  }
}

export const invalidParameter = (name: string, why: string): PrometheusApiError =>
  new PrometheusApiError("bad_data", `invalid parameter "${name}": ${why}`);
