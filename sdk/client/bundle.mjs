import { rolldown } from "rolldown";
import { MANGLED } from "./mangled.mjs";

/** Name of each module that the package gives away. */
export const ENTRIES = ["index", "words", "worker_clock"];

const MINIFY = {
  compress: true,
  mangle: true,
  mangleProps: { include: new RegExp(`^(${MANGLED.join("|")})$`) },
  codegen: true,
};

/** Bundles one entry as `es` into dist/ or as `cjs` into dist/cjs; gives the code. */
export async function bundle(entry, format, write = true) {
  const root = import.meta.dirname;
  const bundled = await rolldown({ input: `${root}/src/${entry}.ts` });
  const { output } = await bundled[write ? "write" : "generate"]({
    file: `${root}/dist/${format === "cjs" ? "cjs/" : ""}${entry}.js`,
    format,
    minify: MINIFY,
    comments: false,
    // Beside the file and not named in it: for those who look into a stack trace.
    sourcemap: write && "hidden",
  });
  await bundled.close();
  return output[0].code;
}
