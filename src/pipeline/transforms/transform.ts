/** A transform changes deliveries on their way, in order; it must be quick, since it runs between a read and its sinks. */
import type { Delivery } from "../sink.ts";

export type Transform = (delivery: Delivery) => Delivery;
