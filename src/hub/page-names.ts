/** The pages of the browser app, each served at a path of its name. Also imported by the app: constants only. */

/** All paths are one level deep, so that relative URLs resolve the same on every page, also under a path of a reverse proxy. */
export const pageNames = [
  "fleet",
  "gpu",
  "host",
  "jobs",
  "serving",
  "compare",
  "alerts",
  "boards",
  "explore",
  "analytics",
  "system",
  "runbooks",
] as const;
export type PageName = (typeof pageNames)[number];
