import { entriesSource } from "#bench/entries";
import { measureOperations } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";

/**
 * The whole list as one dynamic resource that only stores it, as in Pulumi's documentation. This is the cost of
 * Pulumi's SDK, host and engine for a map with that many strings as inputs and outputs, without any requests or work of
 * ours.
 */
export function nothingListProgram(count: number): string {
  return `
import * as pulumi from "@pulumi/pulumi";

const kept = Object.fromEntries(${entriesSource(count, "short")}.map(({ list, value, comment }) => [value, \`\${list}: \${comment}\`]));

class NothingProvider implements pulumi.dynamic.ResourceProvider {
  async diff(): Promise<pulumi.dynamic.DiffResult> {
    return { changes: false };
  }

  async create(inputs: object): Promise<pulumi.dynamic.CreateResult> {
    return { id: "nothing", outs: inputs };
  }

  async read(id: string, props: object): Promise<pulumi.dynamic.ReadResult> {
    return { id, props };
  }
}

class Nothing extends pulumi.dynamic.Resource {
  constructor(name: string) {
    super(new NothingProvider(), name, { entries: kept });
  }
}

new Nothing("nothing");
`;
}

export const nothingList: Peer = {
  name: "nothing-list",
  title: "a no-op dynamic resource with a list",
  isSlow: false,
  async measure(bench) {
    await measureOperations(bench, { count: bench.manyEntries, program: nothingListProgram });
  },
};
