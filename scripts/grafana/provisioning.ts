/**
 * deploy/grafana/provisioning: Grafana's data sources and the location of the dashboards. Secrets are Grafana's environment
 * variables, never text.
 */
import { stringify } from "yaml";

const head = (says: string): string =>
  `# ${says}\n# Generated from scripts/grafana: npm run docs writes it.\n`;

/** Rates need at least four scrapes of the slowest job, or its panels stay empty. */
const slowestScrape = "15s";

const promLike = (uid: string, name: string, url: string, more: object = {}): object => ({
  uid,
  name,
  type: "prometheus",
  access: "proxy",
  url,
  ...more,
});

const prometheusData = {
  httpMethod: "POST",
  timeInterval: slowestScrape,
  // Prometheus, Alertmanager and the hub manage alerts, not Grafana.
  manageAlerts: false,
};

const dataSources = {
  apiVersion: 1,
  datasources: [
    promLike("gpulse-prometheus", "Prometheus", "http://prometheus:9090", {
      isDefault: true,
      jsonData: { prometheusType: "Prometheus", ...prometheusData },
    }),
    promLike("gpulse-hub", "gpulse hub", "http://hub:9410", {
      jsonData: { ...prometheusData, httpHeaderName1: "Authorization" },
      // From `gpulse token add`; a hub without authentication ignores it.
      secureJsonData: { httpHeaderValue1: "Bearer $GPULSE_TOKEN" },
    }),
    {
      uid: "gpulse-influxdb",
      name: "InfluxDB (InfluxQL)",
      type: "influxdb",
      access: "proxy",
      url: "http://influxdb:8086",
      user: "$INFLUXDB_USER",
      jsonData: { dbName: "gpu", httpMode: "POST" },
      secureJsonData: { password: "$INFLUXDB_PASSWORD" },
    },
    {
      uid: "gpulse-influxdb-flux",
      name: "InfluxDB (Flux)",
      type: "influxdb",
      access: "proxy",
      url: "http://influxdb:8086",
      jsonData: { version: "Flux", organization: "$INFLUXDB_ORG", defaultBucket: "gpu" },
      secureJsonData: { token: "$INFLUXDB_TOKEN" },
    },
    {
      uid: "gpulse-loki",
      name: "Loki",
      type: "loki",
      access: "proxy",
      url: "http://loki:3100",
      jsonData: { maxLines: 1000, manageAlerts: false },
    },
  ],
};

const provider = (name: string, path: string): object => ({
  name,
  folder: "gpulse",
  type: "file",
  // Changes belong in the generator: changes saved to a file would be lost at the next update.
  allowUiUpdates: false,
  updateIntervalSeconds: 30,
  options: { path },
});

const dashboards = {
  apiVersion: 1,
  providers: [
    provider("gpulse", "/var/lib/grafana/dashboards/gpulse"),
    provider("gpulse-influxdb", "/var/lib/grafana/dashboards/gpulse-influxdb"),
  ],
};

export const dataSourcesFile = (): string =>
  head(
    "Data sources by the names that compose gives the services; variables come from Grafana's environment.",
  ) + stringify(dataSources);

export const dashboardsFile = (): string =>
  head(
    "Where the dashboards lie: mount deploy/grafana/dashboards and deploy/grafana/influxdb there.",
  ) + stringify(dashboards);
