/** Self-metrics of access control: refused requests by reason, and when the certificate expires. */
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import type { AuthResult } from "./authenticator.ts";

export type AuthFailureReason = Exclude<AuthResult, { ok: true }>["why"];

const reasons: readonly AuthFailureReason[] = [
  "missing",
  "unknown",
  "revoked",
  "expired",
  "password",
  "scope",
  "too-many",
];

export class RefusalCounts {
  readonly #counts = new Map<AuthFailureReason, number>();

  add(reason: AuthFailureReason): void {
    this.#counts.set(reason, this.of(reason) + 1);
  }

  of(reason: AuthFailureReason): number {
    return this.#counts.get(reason) ?? 0;
  }
}

export function collectAccess(
  put: PutMetric,
  refused: RefusalCounts,
  certificateExpiresMs: number | undefined,
): void {
  for (const reason of reasons) put(self.accessRefused, refused.of(reason), { reason });
  put(
    self.certificateExpiry,
    certificateExpiresMs === undefined ? undefined : certificateExpiresMs / 1_000,
  );
}
