/** Every file below deploy/grafana and its generator. A dashboard that queries an unknown metric fails and writes none. */
import { boards } from "./boards/index.ts";
import { boardFile } from "./dashboard.ts";
import { gpuzBoard } from "./influxdb.ts";
import { checkNames } from "./names.ts";
import { dashboardsFile, dataSourcesFile } from "./provisioning.ts";
import type { Board } from "./shape.ts";

export interface DashboardFile {
  readonly path: string;
  readonly board: Board;
}

const fileName = ({ uid }: Board): string => uid.replace(/^gpulse-/, "");

export const dashboardFiles: readonly DashboardFile[] = [
  ...boards.map((board) => ({ path: `deploy/grafana/dashboards/${fileName(board)}.json`, board })),
  { path: "deploy/grafana/influxdb/gpuz.json", board: gpuzBoard("influxql") },
  { path: "deploy/grafana/influxdb/gpuz-flux.json", board: gpuzBoard("flux") },
];

export const grafanaFiles: readonly { readonly path: string; readonly render: () => string }[] = [
  ...dashboardFiles.map(({ path, board }) => ({
    path,
    render: () => {
      checkNames(board);
      return boardFile(board);
    },
  })),
  { path: "deploy/grafana/provisioning/datasources/gpulse.yml", render: dataSourcesFile },
  { path: "deploy/grafana/provisioning/dashboards/gpulse.yml", render: dashboardsFile },
];
