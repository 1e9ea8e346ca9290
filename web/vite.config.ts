/** Builds the browser app. Relative addresses, so that it also works under a path of a reverse proxy. */
import { defineConfig } from "vite";

/** Modules of the frame around every page and of most pages. */
const shared =
  /\/node_modules\/@?preact\/|rolldown\/runtime|vite\/preload-helper|\/web\/src\/(?:app|format|live|query|ui|view-state)\/|\/web\/src\/(?:main\.tsx|chart\/colour\.ts|pages\/fleet\/(?:energy|price)\.ts)|\/src\/view\//;
/** Among them: what only dialogs and few pages need. */
const apart =
  /\/(?:account-dialogs|dialog-form|form|form-fields|meaning|palette|palette-entries|pin-dialog|receiver-tests|table|table-sort|use-curves)\.tsx?$|\/src\/view\/(?:dictionary\.ts|(?:board|changes|jobs|serving)\/|host\/topology)/;

export default defineConfig({
  base: "./",
  // Said outright: Vite takes NODE_ENV=test for development, and would write the builder's file paths into the page.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
  build: {
    target: ["chrome123", "firefox128", "safari17.5"],
    // Inlined files would need data: in the page's content security policy.
    assetsInlineLimit: 0,
    // Read by the hub, which preloads the files of the page that is opened.
    manifest: true,
    modulePreload: { polyfill: false },
    // One style for all pages is 45 KB; one for each costs a request more before the first drawing.
    cssCodeSplit: false,
    rolldownOptions: {
      // Warnings about slow plugins would appear at every first start on a slow machine.
      checks: { pluginTimings: false },
      // What pages share comes in two files, not in twenty: every request delays the first chart.
      output: {
        codeSplitting: {
          groups: [
            { name: "app", priority: 2, test: (id) => shared.test(id) && !apart.test(id) },
            {
              name: "chart",
              priority: 1,
              test: /\/node_modules\/uplot\/|\/web\/src\/chart\/|\/src\/view\/board\//,
            },
          ],
        },
      },
    },
  },
});
