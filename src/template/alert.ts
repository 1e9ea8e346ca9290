/** A label or annotation template of an alerting rule, expanded for one alert. */
import { TemplateSet } from "./exec.ts";
import type { QuerySample } from "./functions/prometheus.ts";
import { NeedsQuery, prometheusFunctions } from "./functions/prometheus.ts";
import { TemplateError } from "./lex.ts";
import type { GoObject } from "./value.ts";
import { GoMap } from "./value.ts";

export interface AlertTemplateData {
  readonly labels: ReadonlyMap<string, string>;
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  readonly value: number;
}

export type AskQuery = (query: string) => Promise<readonly QuerySample[]>;

/** The variables every rule may use. */
const prelude =
  "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}";
const maxQueries = 100;

/** @throws TemplateError where it cannot be expanded. */
export async function expandAlertTemplate(
  source: string,
  data: AlertTemplateData,
  nowMs: number,
  ask: AskQuery,
): Promise<string> {
  // Most have nothing to expand, and 5,000 rules are expanded at every evaluation.
  if (!source.includes("{{")) return source;
  const answers = new Map<string, readonly QuerySample[]>();
  for (;;) {
    try {
      const { externalUrl } = data;
      const set = new TemplateSet(prometheusFunctions({ answers, externalUrl, nowMs }));
      set.add(prelude + source, "main");
      return set.run("main", dataValue(data));
    } catch (thrown) {
      if (!(thrown instanceof NeedsQuery)) throw thrown;
      if (answers.size >= maxQueries)
        throw new TemplateError(`the template asks more than ${maxQueries} queries`);
      answers.set(thrown.query, await ask(thrown.query));
    }
  }
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
  const functions = prometheusFunctions({ answers: new Map(), externalUrl: "", nowMs: 0 });
  new TemplateSet(functions).add(prelude + source, "main");
}
