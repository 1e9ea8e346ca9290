/** The JSON Schema for a channel's form: `format: password` and `writeOnly` mark a secret, `x-field` selects the input. */
import * as v from "valibot";
import type { Channel } from "./channel.ts";
import type { ChannelFieldKind } from "./fields.ts";

export interface ChannelForm {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** The key of its entries in alertmanager.yml. */
  readonly key: string;
  readonly example: string;
  readonly schema: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, FormField>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
}

export interface FormField {
  readonly type: string;
  readonly description: string;
  /** The input to show; `advanced` is edited as text. */
  readonly "x-field": ChannelFieldKind;
  readonly default?: unknown;
  readonly format?: "password";
  readonly writeOnly?: true;
  readonly enum?: readonly string[];
}

interface Entry {
  readonly type: string;
  readonly wrapped?: v.GenericSchema;
  readonly default?: unknown;
  readonly options?: readonly unknown[];
}

const types: Readonly<Record<ChannelFieldKind, Pick<FormField, "type" | "format" | "writeOnly">>> =
  {
    text: { type: "string" },
    template: { type: "string" },
    secret: { type: "string", format: "password", writeOnly: true },
    file: { type: "string" },
    flag: { type: "boolean" },
    number: { type: "integer" },
    duration: { type: "string" },
    choice: { type: "string" },
    templates: { type: "object" },
    advanced: { type: "object" },
  };

export function formOf({ name, title, summary, example, options }: Channel): ChannelForm {
  const { entries = {} } = options as {
    readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  };
  const named = Object.entries(entries);
  return {
    name,
    title,
    summary,
    key: `${name}_configs`,
    example,
    schema: {
      type: "object",
      properties: Object.fromEntries(named.map(([key, entry]) => [key, fieldOf(entry)])),
      required: named.filter(([, entry]) => entry.type !== "optional").map(([key]) => key),
      additionalProperties: false,
    },
  };
}

function fieldOf(schema: v.GenericSchema): FormField {
  const outer = schema as Entry;
  const inner = "pipe" in schema ? schema : (outer.wrapped ?? schema);
  const field = v.getMetadata(inner)["field"] as ChannelFieldKind;
  const { options } = inner as Entry;
  return {
    ...types[field],
    "x-field": field,
    description: v.getDescription(inner) ?? "",
    ...(outer.default === undefined ? {} : { default: outer.default }),
    ...(field === "choice" ? { enum: (options ?? []).map(String) } : {}),
    ...(field === "advanced" && outer.default !== undefined && Array.isArray(outer.default)
      ? { type: "array" }
      : {}),
  };
}
