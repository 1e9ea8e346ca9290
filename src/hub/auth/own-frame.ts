/** What the hub says about its door: who was refused, and when its certificate ends. */
import { self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet, noLabels } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
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

/** Refused requests by reason. */
export class RefusalCounts {
  readonly #counts = new Map<AuthFailureReason, number>();

  add(reason: AuthFailureReason): void {
    this.#counts.set(reason, this.of(reason) + 1);
  }

  of(reason: AuthFailureReason): number {
    return this.#counts.get(reason) ?? 0;
  }
}

const builder = new LayoutBuilder();
const slots = reasons.map((reason) => ({
  reason,
  slot: builder.add(self.accessRefused, labelSet({ reason })),
}));
const expirySlot = builder.add(self.certificateExpiry, noLabels);
const layout = builder.build();

export function accessFrame(
  refused: RefusalCounts,
  certificateExpiresMs: number | undefined,
  timeMs: number,
): Frame {
  const writer = new FrameWriter(layout, timeMs);
  for (const { reason, slot } of slots) writer.set(slot, refused.of(reason));
  if (certificateExpiresMs === undefined) writer.absent(expirySlot, "unsupported");
  else writer.set(expirySlot, certificateExpiresMs / 1_000);
  return writer.finish();
}
