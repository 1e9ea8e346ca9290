/** Builds the browser app. Relative addresses, so that it also works under a path of a reverse proxy. */
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // Said outright: Vite takes NODE_ENV=test for development, and would write the builder's file paths into the page.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
  build: {
    target: ["chrome123", "firefox128", "safari17.5"],
    // Inlined files would need data: in the page's content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Warnings about slow plugins would appear at every first start on a slow machine.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
