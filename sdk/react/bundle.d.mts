export declare function bundle(format: "es" | "cjs", write?: boolean): Promise<string>;
