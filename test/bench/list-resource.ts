import { type Comments, entriesSource } from "#bench/entries";
import { measureOperations, measureState } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";
import { type BenchProviderKind, packageOf } from "#bench/provider-kind";

export interface ListProgramOptions {
  /** Default: the dynamic provider. */
  readonly providerKind?: BenchProviderKind;
  readonly comments?: Comments;
  /** Statements that change `entries` before the resource is declared. */
  readonly changes?: string;
}

export function listProgram(count: number, options: ListProgramOptions = {}): string {
  const { providerKind = "dynamic", comments = "short", changes = "" } = options;
  // The native resource accepts only the keyed form.
  const declared =
    providerKind === "dynamic"
      ? "entries"
      : `entries: Object.fromEntries(entries.map(({ list, value, comment }) => [value, \`\${list}: \${comment}\`]))`;
  return `
import { AllowDenyList } from "${packageOf(providerKind)}";

const entries = ${entriesSource(count, comments)};
${changes}
new AllowDenyList("list", { ${declared} });
`;
}

/** Measures the whole list as one resource. */
export const listResource: Peer = {
  name: "list",
  title: "one `AllowDenyList`",
  isSlow: false,
  async measure(bench) {
    const count = bench.manyEntries;
    await measureOperations(bench, { count, program: (size) => listProgram(size) });
    const variant = "comments of 40 characters";
    const program = (size: number): string => listProgram(size, { comments: "40 characters" });
    await measureState(bench, { count, variant, program });
  },
};

/** The same with the native plugin. */
export const nativeListResource: Peer = {
  name: "native-list",
  title: "one `AllowDenyList`, native plugin",
  isSlow: false,
  async measure(bench) {
    const program = (size: number): string => listProgram(size, { providerKind: "native" });
    await measureOperations(bench, { count: bench.manyEntries, program });
  },
};
