/**
 * Imports a Grafana dashboard's PromQL panels as a board, with a list of what could not be imported. Accepts any JSON: unknown
 * parts are listed or ignored, and nothing in it is trusted. Pure.
 */
import type { Unit } from "../../model/catalogue/entry.ts";
import {
  type Board,
  boardLimits,
  type BoardPanel,
  type BoardVariable,
  type PanelKind,
  type PanelQuery,
  variableReference,
} from "../../view/board/board.ts";
import { checkBoard, countQueryCharacters } from "./schema.ts";
import { type GrafanaVariables, readVariables } from "./grafana-variables.ts";
import { isRecord, type BoardJson, listIn, numberIn, recordIn, textIn } from "./json.ts";

export interface ConvertedBoard {
  readonly board: Board;
  /** Parts not imported, one sentence each. */
  readonly leftOut: readonly string[];
}

/** Grafana dashboards have hundreds of panels at most. */
const maxReadPanels = 1_000;
const maxListed = 200;

const kinds: ReadonlyMap<string, PanelKind> = new Map([
  ["timeseries", "timeseries"],
  ["graph", "timeseries"],
  ["stat", "stat"],
  ["singlestat", "stat"],
  ["gauge", "gauge"],
  ["bargauge", "gauge"],
  ["table", "table"],
  ["table-old", "table"],
  ["heatmap", "heatmap"],
]);

const unitsByName: ReadonlyMap<string, Unit> = new Map([
  ["percentunit", "ratio"],
  ["bytes", "bytes"],
  ["decbytes", "bytes"],
  ["celsius", "celsius"],
  ["watt", "watts"],
  ["joule", "joules"],
  ["hertz", "hertz"],
  ["rothz", "hertz"],
  ["volt", "volts"],
  ["rotrpm", "rpm"],
  ["s", "seconds"],
  ["Bps", "bytes_per_second"],
  ["binBps", "bytes_per_second"],
]);

export const isGrafana = (value: unknown): value is BoardJson =>
  isRecord(value) &&
  (Array.isArray(value["panels"]) || Array.isArray(value["rows"]) || isRecord(value["dashboard"]));

export function convertGrafana(given: BoardJson): ConvertedBoard {
  const dashboard = recordIn(given, "dashboard") ?? given;
  const leftOut: string[] = [];
  const list = (sentence: string): void => void leftOut.push(sentence.slice(0, 400));
  const variables = readVariables(listIn(recordIn(dashboard, "templating") ?? {}, "list"), list);
  const panels: BoardPanel[] = [];
  let characters = 0;
  const all = panelsOf(dashboard);
  for (const [at, panel] of all.entries()) {
    if (panels.length === boardLimits.panels) {
      list(
        `${all.length - at} more panels: not imported. A board has at most ${boardLimits.panels}.`,
      );
      break;
    }
    const converted = convertPanel(panel, variables, `panel-${panels.length + 1}`, list);
    if (converted === undefined) continue;
    characters += countQueryCharacters({ panels: [converted] });
    const { problem } =
      characters > boardLimits.totalQueryCharacters
        ? {
            problem: `All queries of a board have at most ${boardLimits.totalQueryCharacters} characters together.`,
          }
        : checkBoard({ title: "one", variables: variables.own, panels: [converted] });
    if (problem === undefined) panels.push(converted);
    else list(`${nameOf(panel)}: not imported. ${problem}`);
  }
  if (listIn(recordIn(dashboard, "annotations") ?? {}, "list").some((one) => one["builtIn"] !== 1))
    list("Annotations: not imported. The page marks its own events on every chart.");
  const used = usedNames(panels, variables.own);
  return {
    board: {
      title: cut(textIn(dashboard, "title") ?? "") || "Imported dashboard",
      variables: variables.own.filter(({ name }) => used.has(name)),
      panels,
    },
    leftOut:
      leftOut.length > maxListed
        ? [...leftOut.slice(0, maxListed), `And ${leftOut.length - maxListed} more.`]
        : leftOut,
  };
}

/** Panels from top to bottom, with those of collapsed rows in their place. */
function panelsOf(dashboard: BoardJson): readonly BoardJson[] {
  const all = [
    ...listIn(dashboard, "panels"),
    // Format of dashboards before Grafana 5.
    ...listIn(dashboard, "rows").map((row) => ({ type: "row", panels: row["panels"] })),
  ].slice(0, maxReadPanels);
  const place = (panel: BoardJson): readonly [number, number] => {
    const at = recordIn(panel, "gridPos") ?? {};
    return [numberIn(at, "y") ?? 0, numberIn(at, "x") ?? 0];
  };
  const sorted = all.toSorted((one, other) => {
    const [[y, x], [otherY, otherX]] = [place(one), place(other)];
    return y - otherY || x - otherX;
  });
  return sorted
    .flatMap((panel) => (panel["type"] === "row" ? listIn(panel, "panels") : [panel]))
    .slice(0, maxReadPanels);
}

function convertPanel(
  panel: BoardJson,
  variables: GrafanaVariables,
  id: string,
  list: (sentence: string) => void,
): BoardPanel | undefined {
  const name = nameOf(panel);
  const refuse = (why: string): undefined => {
    list(`${name}: not imported. ${why}`);
  };
  const type = textIn(panel, "type") ?? "";
  if (isRecord(panel["libraryPanel"]) && listIn(panel, "targets").length === 0)
    return refuse("It is a library panel, and the file does not contain it.");
  const kind = kinds.get(type);
  if (kind === undefined) return refuse(`Panels of type "${cut(type)}" are not supported.`);
  const queries = queriesOf(panel, variables, (why) => list(`${name}: ${why}`));
  if (queries.length === 0) return refuse("It has no PromQL query that can be used here.");
  const defaults = recordIn(recordIn(panel, "fieldConfig") ?? {}, "defaults") ?? {};
  const at = recordIn(panel, "gridPos") ?? {};
  const [min, max] = [numberIn(defaults, "min"), numberIn(defaults, "max")];
  const unit = unitsByName.get(textIn(defaults, "unit") ?? "");
  const converted: BoardPanel = {
    id,
    title: cut(textIn(panel, "title") ?? ""),
    kind,
    queries,
    ...(unit === undefined ? {} : { unit }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    // Grafana has 24 columns, and rows of 30 pixels.
    columns: within(Math.round((numberIn(at, "w") ?? 12) / 2), 2, boardLimits.columns),
    rows: within(Math.round((numberIn(at, "h") ?? 8) / 3), 1, boardLimits.rows),
  };
  const lost = lostParts(panel);
  if (lost.length > 0) list(`${name}: imported without its ${lost.join(", ")}.`);
  return converted;
}

function queriesOf(
  panel: BoardJson,
  variables: GrafanaVariables,
  list: (sentence: string) => void,
): readonly PanelQuery[] {
  const queries: PanelQuery[] = [];
  for (const target of listIn(panel, "targets")) {
    if (target["hide"] === true) continue;
    const engine = engineOf(target) ?? engineOf(panel);
    const given = textIn(target, "expr");
    if (engine !== undefined && engine !== "prometheus") {
      list(
        `a query of the data source type "${cut(engine)}" was omitted: only PromQL is supported here.`,
      );
      continue;
    }
    if (given === undefined || given.trim() === "") continue;
    const query = variables.fill(given);
    const unknown = [...query.matchAll(variableReference)]
      .map(([, name = ""]) => name)
      .find((name) => !variables.isKnown(name));
    if (unknown !== undefined || /\[\[|\$\{/.test(query)) {
      list(
        `a query was omitted: it uses the variable ${unknown === undefined ? "syntax [[…]] or ${…}" : `$${cut(unknown)}`}, which could not be imported.`,
      );
      continue;
    }
    if (query.length > boardLimits.queryCharacters) {
      list(`a query was left out: it is longer than ${boardLimits.queryCharacters} characters.`);
      continue;
    }
    if (queries.length >= boardLimits.queriesPerPanel) {
      list(`a query was left out: a panel has at most ${boardLimits.queriesPerPanel}.`);
      continue;
    }
    const legend = textIn(target, "legendFormat") ?? "";
    const isOwn = legend !== "" && legend !== "__auto";
    queries.push(isOwn ? { query, legend: cut(variables.fill(legend)) } : { query });
  }
  return queries;
}

/** The type of the data source; undefined for the default one or a variable. */
function engineOf(value: BoardJson): string | undefined {
  const type = textIn(recordIn(value, "datasource") ?? {}, "type");
  return type === undefined || type.startsWith("$") ? undefined : type;
}

function lostParts(panel: BoardJson): string[] {
  const config = recordIn(panel, "fieldConfig") ?? {};
  const repeat = textIn(panel, "repeat") ?? "";
  const parts: readonly (readonly [string, boolean])[] = [
    ["transformations", listIn(panel, "transformations").length > 0],
    ["overrides", listIn(config, "overrides").length > 0],
    ["value mappings", listIn(recordIn(config, "defaults") ?? {}, "mappings").length > 0],
    ["links", listIn(panel, "links").length > 0],
    ["repetition", repeat !== ""],
  ];
  return parts.flatMap(([part, isThere]) => (isThere ? [part] : []));
}

function usedNames(panels: readonly BoardPanel[], own: readonly BoardVariable[]): Set<string> {
  const texts = [
    ...panels.flatMap(({ queries }) => queries.map(({ query }) => query)),
    ...own.map(({ selector }) => selector),
  ];
  return new Set(
    texts.flatMap((text) => [...text.matchAll(variableReference)].map(([, name = ""]) => name)),
  );
}

const nameOf = (panel: BoardJson): string => `“${cut(textIn(panel, "title") ?? "") || "Untitled"}”`;

const cut = (text: string): string => text.trim().slice(0, boardLimits.titleCharacters).trim();

const within = (value: number, least: number, most: number): number =>
  Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : least;
