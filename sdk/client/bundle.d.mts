export declare const ENTRIES: readonly string[];
export declare function bundle(entry: string, format: "es" | "cjs", write?: boolean): Promise<string>;
