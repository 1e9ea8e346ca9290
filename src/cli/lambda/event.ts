/**
 * The objects of an event: S3's own notification, or the same by EventBridge.
 *
 *   {"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":…},"object":{"key":…,"size":…,"eTag":…}}}]}
 *   {"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":…},"object":{"key":…,"size":…,"etag":…}}}
 *
 * In the first, the key is form-encoded: a space is a plus. In the second it is not encoded.
 */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";

export interface UploadedObject {
  readonly bucket: string;
  readonly key: string;
  readonly bytes: number;
  /** Changes with the content; empty if the event has none. */
  readonly eTag: string;
}

const bucket = v.object({ name: v.pipe(v.string(), v.nonEmpty()) });
const key = v.pipe(v.string(), v.nonEmpty());
const size = v.optional(v.pipe(v.number(), v.minValue(0)), 0);
const tag = v.optional(v.string(), "");

const notification = v.object({
  Records: v.array(
    v.object({
      eventName: v.string(),
      s3: v.object({ bucket, object: v.object({ key, size, eTag: tag }) }),
    }),
  ),
});

const bridged = v.object({
  "detail-type": v.string(),
  detail: v.object({ bucket, object: v.object({ key, size, etag: tag }) }),
});

/** S3 sends this event when a notification is set up. */
const trial = v.object({ Event: v.literal("s3:TestEvent") });

/** Returns created objects only, no removed ones. */
export function objectsOf(event: unknown): readonly UploadedObject[] {
  const parsed = v.safeParse(notification, event);
  if (parsed.success)
    return parsed.output.Records.filter(({ eventName }) =>
      /^(s3:)?ObjectCreated:/.test(eventName),
    ).map(({ s3: { bucket: of, object } }) => ({
      bucket: of.name,
      key: decodeKey(object.key),
      bytes: object.size,
      eTag: object.eTag,
    }));
  const passed = v.safeParse(bridged, event);
  if (passed.success) {
    if (passed.output["detail-type"] !== "Object Created") return [];
    const { bucket: of, object } = passed.output.detail;
    return [{ bucket: of.name, key: object.key, bytes: object.size, eTag: object.etag }];
  }
  if (v.is(trial, event)) return [];
  throw new GpulseError(
    "USAGE",
    "The event is not from S3: connect the function to ObjectCreated notifications of a bucket, or to EventBridge's Object Created.",
  );
}

function decodeKey(given: string): string {
  try {
    return decodeURIComponent(given.replaceAll("+", " "));
  } catch {
    throw new GpulseError("USAGE", `The event names a key with a broken escape: "${given}".`);
  }
}
