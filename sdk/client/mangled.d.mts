export declare const MANGLED: readonly string[];
