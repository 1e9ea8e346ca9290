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

/** The variables every rule may use. */
const prelude =
  "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}";
const maxQueries = 100;

/** What the functions of all rules read. A template runs without waiting, so one context is enough: it is set before every run. */
const context = { answers: new Map<string, readonly QuerySample[]>(), externalUrl: "", nowMs: 0 };
const functions = prometheusFunctions(context);

/** One template of a rule, parsed once. Most have nothing to expand, and 5,000 rules are expanded at every evaluation. */
export class AlertTemplate {
  readonly #source: string;
  readonly #set: TemplateSet | undefined;
  /** Gives the same text at another time, as long as labels and value are the same. */
  readonly isTimeless: boolean;
  /** Gives the same text for another value. */
  readonly isValueless: boolean;

  /** @throws TemplateError where it cannot be parsed. */
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

  /** @throws TemplateError where it cannot be expanded. */
  async expand(data: AlertTemplateData, nowMs: number, ask: RunQuery): Promise<string> {
    if (this.#set === undefined) return this.#source;
    const answers = new Map<string, readonly QuerySample[]>();
    for (;;) {
      try {
        // Set before every run: while answers were waited for, another alert may have been expanded.
        Object.assign(context, { answers, externalUrl: data.externalUrl, nowMs });
        return this.#set.run("main", dataValue(data));
      } catch (thrown) {
        if (!(thrown instanceof NeedsQuery)) throw asWritten(thrown);
        if (answers.size >= maxQueries)
          throw new TemplateError(`the template asks more than ${maxQueries} queries`);
        answers.set(thrown.query, await ask(thrown.query));
      }
    }
  }
}

/** Columns are counted in what the rule's author wrote. */
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

/** Whether a rule's template can be parsed, asked when its file is read. @throws TemplateError */
export function checkAlertTemplate(source: string): void {
  void new AlertTemplate(source);
}
