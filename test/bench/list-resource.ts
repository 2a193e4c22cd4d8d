import { type Comments, entriesSource } from "#bench/entries";
import type { Peer } from "#bench/observation";
import { measureOperations, measureState } from "#bench/operations";

/** @param changes statements that change `entries` before they are declared */
export function listProgram(count: number, comments: Comments = "short", changes = ""): string {
  return `
import { AllowDenyList } from "pulumi-email-security";

const entries = ${entriesSource(count, comments)};
${changes}
new AllowDenyList("list", { entries });
`;
}

/** The whole list as one resource. */
export const listResource: Peer = {
  name: "list",
  title: "one `AllowDenyList`",
  isSlow: false,
  async measure(bench) {
    const count = bench.manyEntries;
    await measureOperations(bench, { count, program: (size) => listProgram(size) });
    const variant = "comments of 40 characters";
    await measureState(bench, { count, variant, program: (size) => listProgram(size, "40 characters") });
  },
};
