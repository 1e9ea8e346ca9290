/** Grafana's JSON of a whole dashboard: positions, variables and links, the same for every dashboard. */
import * as dashboard from "@grafana/grafana-foundation-sdk/dashboard";
import { link, renderPanel } from "./render.ts";
import type { Board, Panel, Variable } from "./shape.ts";

const columns = 24;
const tag = "gpulse";

/** The positions of panels from left to right, in rows as high as their highest panel. */
function places(panels: readonly Panel[], top: number): dashboard.GridPos[] {
  let [x, y, high] = [0, top, 0];
  return panels.map(({ width, height = 8 }) => {
    if (x + width > columns) [x, y, high] = [0, y + high, 0];
    const place = { h: height, w: width, x, y };
    x += width;
    high = Math.max(high, height);
    return place;
  });
}

function panelsOf({ rows, source }: Board): (dashboard.Panel | dashboard.RowPanel)[] {
  let [id, y] = [0, 0];
  return rows.flatMap((row) => {
    const heading = new dashboard.RowBuilder(row.title)
      .id(++id)
      .gridPos({ h: 1, w: columns, x: 0, y })
      .build();
    const placed = places(row.panels, y + 1);
    y = Math.max(y + 1, ...placed.map((place) => place.y + place.h));
    const drawn = row.panels.map((panel, at) => {
      const place = placed[at];
      if (place === undefined) throw new Error("BUG: a panel has no place");
      return renderPanel(panel, ++id, place, source);
    });
    return [heading, ...drawn];
  });
}

function variable({ name, label, type, query, regex, takes }: Variable, source: Board["source"]) {
  if (type === "textbox")
    return new dashboard.TextBoxVariableBuilder(name).label(label).defaultValue(query);
  const built = new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource({ type: source, uid: "${datasource}" })
    .query(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.NaturalAsc);
  if (regex !== undefined) built.regex(regex);
  if (takes !== "one") built.multi(true);
  if (takes === "all")
    built.includeAll(true).allValue(".*").current({ text: "All", value: "$__all" });
  return built;
}

export function renderBoard(board: Board): dashboard.Dashboard {
  const built = new dashboard.DashboardBuilder(board.title)
    .uid(board.uid)
    .description(board.about)
    .tags([tag, ...board.tags])
    .timezone("browser")
    .refresh("30s")
    .time({ from: "now-1h", to: "now" })
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      link({
        type: dashboard.DashboardLinkType.Dashboards,
        tags: [tag],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
      }),
    )
    .withVariable(
      new dashboard.DatasourceVariableBuilder("datasource").label("Data source").type(board.source),
    );
  for (const one of board.variables) built.withVariable(variable(one, board.source));
  return { ...built.build(), panels: panelsOf(board) };
}

export const boardFile = (board: Board): string =>
  `${JSON.stringify(renderBoard(board), undefined, 2)}\n`;
