/**
 * Checks every metric that a panel queries against the catalogue, the recording rules and the list of foreign names: an unknown
 * name fails the build.
 */
import { readFileSync, readdirSync } from "node:fs";
import { parse as parseYaml } from "yaml";
import { findMetric } from "../../src/model/catalogue/index.ts";
import type { Expr } from "../../src/query/ast.ts";
import { parse } from "../../src/query/parse/parse.ts";
import { didYouMean } from "../../src/config/closest.ts";
import { foreign } from "./foreign.ts";
import type { Board } from "./shape.ts";

/** The default rules, and the optional ones for services. */
const rulesFolders = ["", "stack/"].map(
  (below) => new URL(`../../deploy/prometheus/rules/${below}`, import.meta.url),
);

interface RuleFile {
  readonly groups?: readonly { readonly rules: readonly { readonly record?: string }[] }[];
}

/** The names recorded by the rules beside the dashboards. */
function recordedNames(): string[] {
  const files = rulesFolders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".yml"))
      .map((name) => new URL(name, folder)),
  );
  return files.flatMap((file) => {
    const { groups = [] } = parseYaml(readFileSync(file, "utf8")) as RuleFile;
    return groups.flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []));
  });
}

const foreignNames = Object.values(foreign).flat();

/** Substitutes Grafana's built-in variables, so that a query can be parsed as PromQL. */
export const readable = (expr: string): string =>
  expr.replaceAll("$__rate_interval", "1m").replaceAll("$__range", "1h");

export function metricNames(expr: string): string[] {
  const names = new Set<string>();
  const visit = (node: Expr): void => {
    switch (node.kind) {
      case "vector":
        return void names.add(node.name);
      case "matrix":
        return visit(node.selector);
      case "subquery":
      case "unary":
      case "paren":
        return visit(node.expr);
      case "call":
        return node.args.forEach(visit);
      case "aggregate":
        if (node.param !== undefined) visit(node.param);
        return visit(node.expr);
      case "binary":
        visit(node.lhs);
        return visit(node.rhs);
      case "number":
      case "string":
    }
  };
  visit(parse(readable(expr)));
  return [...names];
}

function isKnown(name: string, recorded: readonly string[]): boolean {
  if (findMetric(name) !== undefined || recorded.includes(name)) return true;
  const base = name.replace(/_(bucket|sum|count)$/, "");
  return findMetric(base)?.kind === "histogram" || foreignNames.includes(name);
}

/** Throws if a panel queries an unknown metric. */
export function checkNames(board: Board): void {
  const recorded = recordedNames();
  for (const { title, targets } of board.rows.flatMap(({ panels }) => panels)) {
    for (const target of targets) {
      if (!("expr" in target)) continue;
      for (const name of metricNames(target.expr)) {
        if (isKnown(name, recorded)) continue;
        throw new Error(
          `${board.uid}: panel "${title}" asks for ${name}, which is in no catalogue.${didYouMean(name, [...recorded, ...foreignNames])} Name it in src/model/catalogue where it is ours, else in scripts/grafana/foreign.ts.`,
        );
      }
    }
  }
}
