/** What a parsed template is made of. */

export type Operand =
  | { readonly kind: "dot" }
  | { readonly kind: "nil" }
  | { readonly kind: "literal"; readonly value: string | number | bigint | boolean }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "function"; readonly name: string }
  | { readonly kind: "pipeline"; readonly pipeline: TemplatePipeline };

/** An operand and the fields after it: `$x.Labels.job`, `(index . 0).Value`, `.A.B`. */
export interface Term {
  readonly operand: Operand;
  readonly fields: readonly string[];
  readonly at: string;
}

export type Command = readonly [Term, ...Term[]];

export interface TemplatePipeline {
  readonly declares: readonly string[];
  /** `=` sets a variable that is there, `:=` makes one. */
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly pipeline: TemplatePipeline }
  | {
      readonly kind: "if" | "with" | "range";
      readonly pipeline: TemplatePipeline;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    }
  | {
      readonly kind: "template";
      readonly name: string;
      readonly pipeline: TemplatePipeline | undefined;
      readonly at: string;
    }
  | { readonly kind: "break" }
  | { readonly kind: "continue" };

export type NamedTemplates = ReadonlyMap<string, readonly TemplateNode[]>;
