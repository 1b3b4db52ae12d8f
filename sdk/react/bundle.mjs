import { rolldown } from "rolldown";

/** Bundles the package as `es` into dist/ or as `cjs` into dist/cjs; gives the code. */
export async function bundle(format, write = true) {
  const root = import.meta.dirname;
  const bundled = await rolldown({
    input: `${root}/src/index.ts`,
    external: [/^react/, /^@presenced/],
    transform: { jsx: { runtime: "automatic" } },
  });
  const { output } = await bundled[write ? "write" : "generate"]({
    file: `${root}/dist/${format === "cjs" ? "cjs/" : ""}index.js`,
    format,
    // For frameworks that tell server components from client components.
    banner: '"use client";',
    minify: true,
    comments: false,
    // Beside the file and not named in it: for those who look into a stack trace.
    sourcemap: write && "hidden",
  });
  await bundled.close();
  return output[0].code;
}
