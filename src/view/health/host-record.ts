/** State of one machine between frames: errors of its memory and of its NVSwitches. */
import type { Frame } from "../../model/frame.ts";
import { Growth } from "./growth.ts";
import { HealthReadings, type PlannedInput } from "./inputs.ts";
import type { HealthReason } from "./verdict.ts";

export class HostRecord {
  readonly readings = new HealthReadings();
  readonly corrected = new Growth();
  readonly uncorrected = new Growth();
  /** Reasons from the kernel's log: the newest per name. */
  readonly noted = new Map<string, HealthReason>();
  firstMs = 0;

  take(frame: Frame, inputs: readonly PlannedInput[]): void {
    if (this.firstMs === 0) this.firstMs = frame.timeMs;
    for (const input of inputs) {
      this.readings.take(frame, input);
      const value = this.readings.get(input.name);
      if (value === undefined) continue;
      if (input.name === "memoryCorrected") this.corrected.count(value, frame.timeMs);
      if (input.name === "memoryUncorrected") this.uncorrected.count(value, frame.timeMs);
    }
  }
}
