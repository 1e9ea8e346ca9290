/** A label or annotation template of an alerting rule, expanded for one alert. */
import { TemplateSet } from "./exec.ts";
import { NeedsQuery, prometheusFunctions, type QuerySample } from "./functions/prometheus.ts";
import { TemplateError } from "./lex.ts";
import { GoMap, type GoObject } from "./value.ts";

export interface AlertTemplateData {
  readonly labels: ReadonlyMap<string, string>;
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  readonly value: number;
}

export type RunQuery = (query: string) => Promise<readonly QuerySample[]>;

/** The variables available in every rule. */
const prelude =
  "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}";
const maxQueries = 100;

/** The data for the functions of all rules. A template runs synchronously, so one context is enough: it is set before every run. */
const context = { answers: new Map<string, readonly QuerySample[]>(), externalUrl: "", nowMs: 0 };
const functions = prometheusFunctions(context);

/** One template of a rule, parsed once. Most templates are plain text, and 5,000 rules are expanded at every evaluation. */
export class AlertTemplate {
  readonly #source: string;
  readonly #set: TemplateSet | undefined;
  /** True if the text does not depend on the time, only on labels and value. */
  readonly isTimeless: boolean;
  /** True if the text does not depend on the value. */
  readonly isValueless: boolean;

  /** @throws TemplateError if it cannot be parsed. */
  constructor(source: string) {
    this.#source = source;
    this.isTimeless = !/\{\{/.test(source) || !/query|now/.test(source);
    this.isValueless = !/\{\{/.test(source) || !/alue|[\s({,|][.$][\s)},|]/.test(source);
    if (!source.includes("{{")) return;
    this.#set = new TemplateSet(functions);
    try {
      this.#set.add(prelude + source, "main");
    } catch (thrown) {
      throw asWritten(thrown);
    }
  }

  /** @throws TemplateError if it cannot be expanded. */
  async expand(data: AlertTemplateData, nowMs: number, ask: RunQuery): Promise<string> {
    if (this.#set === undefined) return this.#source;
    const answers = new Map<string, readonly QuerySample[]>();
    for (;;) {
      try {
        // Set before every run: another alert may have been expanded during a query.
        Object.assign(context, { answers, externalUrl: data.externalUrl, nowMs });
        return this.#set.run("main", dataValue(data));
      } catch (thrown) {
        if (!(thrown instanceof NeedsQuery)) throw asWritten(thrown);
        if (answers.size >= maxQueries)
          throw new TemplateError(`the template makes more than ${maxQueries} queries`);
        answers.set(thrown.query, await ask(thrown.query));
      }
    }
  }
}

/** Converts columns to those of the rule author's text. */
function asWritten(thrown: unknown): unknown {
  if (!(thrown instanceof TemplateError)) return thrown;
  const message = thrown.message.replace(
    /\bline 1, column (\d+)/,
    (_, column: string) => `line 1, column ${Number(column) - prelude.length}`,
  );
  return new TemplateError(message);
}

function dataValue({ labels, externalLabels, externalUrl, value }: AlertTemplateData): GoObject {
  return {
    goType: "template.data",
    print: () => "",
    fields: {
      Labels: new GoMap(labels, ""),
      ExternalLabels: new GoMap(externalLabels, ""),
      ExternalURL: externalUrl,
      Value: value,
    },
  };
}

/** Checks that a rule's template can be parsed, when its file is read. @throws TemplateError */
export function checkAlertTemplate(source: string): void {
  void new AlertTemplate(source);
}
