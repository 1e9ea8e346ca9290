/**
 * The kinds of values in a channel's entry. Each has a description, and a `field` in its metadata that selects the form input and
 * marks secrets.
 */
import * as v from "valibot";
import { Secret } from "../../net/http/secret.ts";
import {
  count,
  duration,
  nonEmptyScalar,
  goDuration,
  list,
  mappingOf,
  scalar,
  yamlBoolean,
} from "../../config/yaml/fields.ts";
import { httpEntries } from "../../sources/scrape/config/http-section.ts";

export type ChannelFieldKind =
  | "text"
  | "template"
  | "secret"
  | "file"
  | "flag"
  | "number"
  | "duration"
  | "choice"
  | "templates"
  | "advanced";

const withField = <Schema extends v.GenericSchema>(
  schema: Schema,
  field: ChannelFieldKind,
  description: string,
) => v.pipe(schema, v.description(description), v.metadata({ field }));

export const words = (description: string) => withField(scalar(), "text", description);

/** Text with `{{ … }}` expressions. */
export const template = (description: string) => withField(scalar(), "template", description);

/** A template that may not be empty. */
export const filledTemplate = (description: string) =>
  withField(nonEmptyScalar("text"), "template", description);

/** Redacted in output; may name an environment variable (see environment.ts). */
export const secret = (description: string) =>
  withField(
    v.pipe(
      scalar(),
      v.transform((text) => new Secret(text)),
    ),
    "secret",
    description,
  );

export const secretFile = (description: string) => withField(scalar("a path"), "file", description);

export const yesOrNo = (description: string) => withField(yamlBoolean(), "flag", description);

export const number = (description: string, min = 0) =>
  withField(count(min), "number", description);

export const time = (description: string) => withField(duration(), "duration", description);

/** A Go duration, which has fractions and no days: 1.5h. */
export const goTime = (description: string) => withField(goDuration(), "duration", description);

export const choice = <const Options extends readonly string[]>(
  options: Options,
  description: string,
) => {
  const takes = `one of ${options.map((one) => (one === "" ? '""' : one)).join(", ")}`;
  return withField(v.picklist(options, takes), "choice", description);
};

export const templateMap = (description: string) =>
  withField(mappingOf(scalar()), "templates", description);

export const advanced = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  withField(schema, "advanced", description);

export const items = list;

export const httpConfig = () =>
  v.optional(
    advanced(
      v.strictObject(httpEntries),
      "Credentials, headers and TLS of the requests, as Prometheus's http_config.",
    ),
  );

export const tlsConfig = () =>
  v.optional(
    advanced(
      httpEntries.tls_config.wrapped,
      "How the other side's certificate is checked, and which we show.",
    ),
  );

/** Alertmanager's default differs per channel. */
export const sendResolved = (fallback: boolean) =>
  v.optional(yesOrNo("Whether to send a notification when the alerts resolve."), fallback);
