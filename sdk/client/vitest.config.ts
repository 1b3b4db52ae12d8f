import { defineConfig } from "vitest/config";

// Time is virtual, but a machine that builds C++ beside may be slow.
export default defineConfig({ test: { testTimeout: 60_000 } });
