/**
 * The labels and annotations of a rule's alerts. Templates are parsed once, and a result is reused while labels and value stay
 * the same, unless the template runs a query or uses the time.
 */
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { VectorSample } from "../../query/result.ts";
import {
  AlertTemplate,
  type AlertTemplateData,
  type RunQuery,
} from "../../formats/template/alert.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { AlertingRule } from "./types.ts";

export interface TemplateContext {
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  readonly ask: RunQuery;
}

export interface AlertTexts {
  readonly labels: ReadonlyMap<string, string>;
  /** Equal for equal labels. */
  readonly key: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface CachedTexts extends AlertTexts {
  readonly value: number;
}

type Template = readonly [name: string, template: AlertTemplate | TemplateError];

export class RuleTexts {
  readonly #name: string;
  readonly #labels: readonly Template[];
  readonly #annotations: readonly Template[];
  readonly #keepsLabels: boolean;
  readonly #keepsAnnotations: boolean;
  readonly #annotationsUseValue: boolean;
  #before = new Map<string, CachedTexts>();
  #now = new Map<string, CachedTexts>();

  constructor({ name, labels, annotations }: AlertingRule) {
    this.#name = name;
    this.#labels = templatesOf(labels);
    this.#annotations = templatesOf(annotations);
    this.#keepsLabels = this.#labels.every((one) => isTimeless(one) && isValueless(one));
    this.#keepsAnnotations = this.#annotations.every(isTimeless);
    this.#annotationsUseValue = !this.#annotations.every(isValueless);
  }

  /** Drops cached texts that were not used since the previous call. */
  next(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  async of(sample: VectorSample, timeMs: number, context: TemplateContext): Promise<AlertTexts> {
    const sampleKey = labelKey(sample.labels);
    const known = this.#before.get(sampleKey);
    const labels = known !== undefined && this.#keepsLabels ? known : undefined;
    const sameValue = known !== undefined && Object.is(known.value, sample.value);
    const annotations =
      this.#keepsAnnotations && (sameValue || !this.#annotationsUseValue)
        ? known?.annotations
        : undefined;
    const made: CachedTexts =
      known !== undefined && labels === known && annotations === known.annotations && sameValue
        ? known
        : {
            ...(labels ?? (await this.#labelsOf(sample, timeMs, context))),
            annotations: annotations ?? (await this.#annotationsOf(sample, timeMs, context)),
            value: sample.value,
          };
    this.#now.set(sampleKey, made);
    return made;
  }

  async #labelsOf(
    sample: VectorSample,
    timeMs: number,
    context: TemplateContext,
  ): Promise<Pick<AlertTexts, "labels" | "key">> {
    const made = new Map(sample.labels);
    made.delete("__name__");
    for (const [name, template] of this.#labels) {
      const value = await expanded(template, sample, timeMs, context);
      if (value === "") made.delete(name);
      else made.set(name, value);
    }
    made.set("alertname", this.#name);
    const sorted: LabelSet = [...made].sort(byName);
    return { labels: new Map(sorted), key: labelKey(sorted) };
  }

  async #annotationsOf(
    sample: VectorSample,
    timeMs: number,
    context: TemplateContext,
  ): Promise<Readonly<Record<string, string>>> {
    const made: Record<string, string> = {};
    for (const [name, template] of this.#annotations)
      made[name] = await expanded(template, sample, timeMs, context);
    return made;
  }
}

async function expanded(
  template: AlertTemplate | TemplateError,
  { labels, value }: VectorSample,
  timeMs: number,
  context: TemplateContext,
): Promise<string> {
  try {
    if (template instanceof TemplateError) throw template;
    const { externalLabels, externalUrl, ask } = context;
    // As in Prometheus, this includes the metric name.
    const data: AlertTemplateData = { labels: new Map(labels), externalLabels, externalUrl, value };
    return await template.expand(data, timeMs, ask);
  } catch (thrown) {
    if (thrown instanceof TemplateError) return `<error expanding template: ${thrown.message}>`;
    throw thrown;
  }
}

/**
 * Sorted by name. A template that cannot be parsed (a group's labels are not validated) prints its error in place of the text.
 */
function templatesOf(sources: Readonly<Record<string, string>>): Template[] {
  return Object.entries(sources)
    .sort(byName)
    .map(([name, source]) => {
      try {
        return [name, new AlertTemplate(source)];
      } catch (thrown) {
        if (!(thrown instanceof TemplateError)) throw thrown;
        return [name, thrown];
      }
    });
}

const isTimeless = ([, template]: Template): boolean =>
  template instanceof TemplateError || template.isTimeless;
const isValueless = ([, template]: Template): boolean =>
  template instanceof TemplateError || template.isValueless;

const byName = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  left < right ? -1 : left > right ? 1 : 0;
