/** The pages of the browser app, each at one path of its name. Read by the app too: constants only. */

/** One level deep, so that relative addresses mean the same on every page, also under a path of a reverse proxy. */
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
