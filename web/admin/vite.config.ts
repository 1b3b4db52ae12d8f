import { defineConfig } from "vite";

// Relative addresses and no inlined file: the server may stand behind any path, and its policy
// allows neither inline scripts nor inline styles.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: {
    // `npm run dev` beside `presenced serve --dev`.
    proxy: {
      "/v1": "http://127.0.0.1:8080",
      "/metrics": "http://127.0.0.1:8080",
      "/readyz": "http://127.0.0.1:8080",
      "/version": "http://127.0.0.1:8080",
    },
  },
});
