import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // The packages are links into this repository, with packages of their own beside them; installed
  // from the registry they need none of this.
  resolve: { dedupe: ["react", "react-dom", "@presenced/client"] },
});
