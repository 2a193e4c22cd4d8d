import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { expect, it } from "vitest";
import { PULUMI_UNKNOWN } from "../../../provider/model/unknown-value";
import type { ResourceProperties } from "../../support/provider-call";
import type { ProviderProcess } from "../../support/provider-process";
import { shareSandboxTenant } from "../../support/sandbox-tenant";

/* List is the only call of Pulumi's protocol that is answered with a stream: the existing resources of a type. */

const tenant = shareSandboxTenant({ scenario: "acme" });

interface QueryOptions {
  readonly query?: ResourceProperties;
  readonly limit?: number;
  readonly pageSize?: number;
  readonly from?: string;
}

interface ListedPage {
  readonly ids: string[];
  readonly names: string[];
  readonly isComputed: boolean;
  readonly next: string | undefined;
}

async function listResources(
  { client }: ProviderProcess,
  kind: string,
  options: QueryOptions = {},
): Promise<ListedPage> {
  const { query = {}, limit = 0, pageSize = 0, from = "" } = options;
  const request = new messages.ListRequest();
  request.setToken(`email-security:index:${kind}`);
  request.setQuery(Struct.fromJavaScript(query as never));
  request.setLimit(limit);
  request.setPageSize(pageSize);
  request.setContinuationToken(from);
  const page = { ids: [] as string[], names: [] as string[], isComputed: false };
  let next: string | undefined;
  for await (const answer of client.list(request) as AsyncIterable<InstanceType<typeof messages.ListResponse>>) {
    const result = answer.getResult();
    if (result !== undefined) {
      page.ids.push(result.getId());
      page.names.push(result.getName());
    }
    if (answer.hasComputed()) page.isComputed = true;
    next = answer.getContinuation()?.getContinuationToken() ?? next;
  }
  return { ...page, next };
}

it("yields every entry by an importable id", async () => {
  const { provider, sandbox } = tenant();
  const rows = sandbox.allowDenyEntries("acme");
  const all = await listResources(provider, "AllowDenyEntry");
  expect(all.ids.toSorted()).toEqual(rows.map(({ id }) => id).sort());
  for (const name of ["allow", "deny"] as const) {
    const { ids } = await listResources(provider, "AllowDenyEntry", { query: { list: name } });
    expect(ids.toSorted()).toEqual(
      rows
        .filter((row) => row.list === name)
        .map(({ id }) => id)
        .sort(),
    );
  }
  const entry = provider.getResource("allowDenyEntry");
  const imported = await Promise.all([...all.ids, ...all.names].map(async (id) => await entry.read(id)));
  expect(imported.map((item) => item?.id)).toEqual([...all.ids, ...all.ids]);
});

it("yields every VIP by its mailbox", async () => {
  const { provider, sandbox } = tenant();
  const { ids } = await listResources(provider, "VipEmployee");
  expect(ids.toSorted()).toEqual(
    sandbox
      .vips("acme")
      .map(({ email }) => email)
      // Some rows have no mailbox.
      .filter((email) => email !== "")
      .sort(),
  );
  const vip = provider.getResource("vipEmployee");
  const imported = await Promise.all(ids.map(async (id) => await vip.read(id)));
  expect(imported.map((item) => item?.id)).toEqual(ids);
  expect((await listResources(provider, "AllowDenyList")).ids).toEqual(["allow-deny-list"]);
  expect((await listResources(provider, "VipList")).ids).toEqual(["vip-list"]);
});

it("returns pages of the requested size up to the limit", async () => {
  const { provider } = tenant();
  const { ids } = await listResources(provider, "AllowDenyEntry");
  expect(ids.length).toBeGreaterThan(6);
  expect(await listResources(provider, "AllowDenyEntry", { limit: 5 })).toMatchObject({
    ids: ids.slice(0, 5),
    next: undefined,
  });
  const pages: string[][] = [];
  let from: string | undefined = "";
  while (from !== undefined) {
    const page: ListedPage = await listResources(provider, "AllowDenyEntry", { limit: 5, pageSize: 2, from });
    pages.push(page.ids);
    from = page.next;
  }
  expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4, 5)]);
  const more: string[] = [];
  for (from = ""; from !== undefined; ) {
    const page: ListedPage = await listResources(provider, "AllowDenyEntry", { pageSize: 3, from });
    expect(page.ids.length).toBeLessThanOrEqual(3);
    more.push(...page.ids);
    from = page.next;
  }
  expect(more).toEqual(ids);
  await expect(listResources(provider, "AllowDenyEntry", { from: "elsewhere" })).rejects.toThrow(
    'Page "elsewhere" doesn\'t exist',
  );
});

it("returns a computed result for an unknown query value", async () => {
  const { provider, sandbox } = tenant();
  sandbox.clearRequests();
  const queryEntries = (properties: ResourceProperties) =>
    listResources(provider, "AllowDenyEntry", { query: properties });
  expect(await queryEntries({ list: PULUMI_UNKNOWN })).toMatchObject({ ids: [], isComputed: true });
  await expect(queryEntries({ list: "block" })).rejects.toThrow(
    /AllowDenyEntry can't be listed with these arguments: list must be "allow" or "deny", not "block".*\[ERR_INVALID_ARGUMENT\]/,
  );
  await expect(queryEntries({ lists: "deny" })).rejects.toThrow(/lists isn't an argument; did you mean list?/);
  await expect(listResources(provider, "Allowlist")).rejects.toThrow(
    /The resource type .* doesn't exist.*\[ERR_PROTOCOL\]/,
  );
  expect(sandbox.requests).toEqual([]);
});
