import { formatEntriesSource } from "#bench/entries";
import { measureOperations } from "#bench/measure-operations";
import type { Peer } from "#bench/measurement";

/**
 * Returns a program with a dynamic provider as in Pulumi's documentation. The service can't read one entry, so `read`
 * pages through the list.
 */
function buildNaiveProgram(count: number): string {
  return `
import * as pulumi from "@pulumi/pulumi";

interface Entry {
  list: "allow" | "deny";
  value: string;
  comment: string;
}

class EntryProvider implements pulumi.dynamic.ResourceProvider {
  async create(inputs: Entry): Promise<pulumi.dynamic.CreateResult> {
    const { list, value, comment } = inputs;
    const { results } = await this.call("POST", "", { list, entry_type: "domain", value, comment });
    return { id: results.id, outs: inputs };
  }

  async read(id: string, props: Entry): Promise<pulumi.dynamic.ReadResult> {
    for (let page = 1; ; page++) {
      const { results } = await this.call("GET", \`?list=\${props.list}&page=\${page}&page_size=200\`);
      const found = results.items.find((entry: any) => entry.id === id);
      if (found) return { id, props: { ...props, comment: found.comment } };
      if (page * 200 >= results.total) return {};
    }
  }

  async diff(id: string, olds: Entry, news: Entry): Promise<pulumi.dynamic.DiffResult> {
    const replaces = olds.value !== news.value ? ["value"] : [];
    return { replaces, changes: replaces.length > 0 || olds.list !== news.list || olds.comment !== news.comment };
  }

  async update(id: string, olds: Entry, news: Entry): Promise<pulumi.dynamic.UpdateResult> {
    await this.call("PATCH", \`/\${id}\`, { list: news.list, comment: news.comment });
    return { outs: news };
  }

  async delete(id: string): Promise<void> {
    await this.call("DELETE", \`/\${id}\`);
  }

  private async call(method: string, path: string, body?: object): Promise<any> {
    const response = await fetch(\`\${process.env.EMAIL_SECURITY_BASE_URL}/api/v1/settings/allow_deny_entries\${path}\`, {
      method,
      headers: { "X-Api-Key": process.env.EMAIL_SECURITY_API_KEY!, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);
    return await response.json();
  }
}

class DenyEntry extends pulumi.dynamic.Resource {
  constructor(name: string, args: Entry) {
    super(new EntryProvider(), name, args);
  }
}

for (const entry of ${formatEntriesSource(count)}) new DenyEntry(entry.value, entry);
`;
}

/** A dynamic provider as you would write it first: all logic in the class, one resource per entry. */
export const naiveProvider: Peer = {
  name: "naive",
  title: "a minimal dynamic provider",
  isSlow: true,
  async measure(bench) {
    await measureOperations(bench, { count: bench.singleEntries, program: buildNaiveProgram });
  },
};
