export * from "./allow-deny-entries";
export type { CamelCased } from "./camel-case";
export type { FunctionOptions } from "./data-function";
export * from "./metrics";
export type { OutputArgs } from "./output-args";
export * from "./phishing-reports";
export * from "./threats";
export * from "./vip-employees";
