import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    // The declarations of tsc lie in the same folder and come first.
    emptyOutDir: false,
    minify: false,
    sourcemap: true,
    lib: {
      entry: "src/index.ts",
      formats: ["es", "cjs"],
      fileName: (format) => (format === "es" ? "index.js" : "index.cjs"),
    },
  },
});
