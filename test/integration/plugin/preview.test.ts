import { describe, expect, it } from "vitest";
import { PULUMI_UNKNOWN as UNKNOWN } from "../../../provider/model/unknown-value";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import type { ResourceProperties } from "../../support/provider-call";
import { shareSandboxTenant } from "../../support/sandbox-tenant";

/*
 * The plugin's answers to a create or update in a preview: everything that follows from the arguments and the state, as
 * the run after it will have it, without any request.
 */

const tenant = shareSandboxTenant();
const LENA = "lena.hartmann@acme.example";
const getHost = () => new URL(tenant().sandbox.url).host;
const PREVIEW = { preview: true };

interface PreviewCase {
  readonly label: string;
  readonly kind: HandlerName;
  readonly inputs: ResourceProperties;
  /** Properties that a preview of the create can't know. */
  readonly unknownOutputs: readonly string[];
  /** The successive updates. */
  readonly updates: readonly ResourceProperties[];
}

const ENTRY = { list: "deny", value: "Evil.Example" };
const ALL_OF_ENTRY = {
  ...ENTRY,
  verdictScope: "graymail",
  comment: "INC-7",
  adopt: true,
  entryType: "domain",
};
const CASES: readonly PreviewCase[] = [
  {
    label: "an entry with what it needs",
    kind: "allowDenyEntry",
    inputs: ENTRY,
    unknownOutputs: ["entryId", "createdAt", "createdBy"],
    updates: [
      { ...ENTRY, comment: "INC-7" },
      { ...ENTRY, list: "allow" },
      { ...ENTRY, list: "allow", comment: "" },
    ],
  },
  {
    label: "an entry with all that it takes",
    kind: "allowDenyEntry",
    inputs: ALL_OF_ENTRY,
    unknownOutputs: ["entryId", "createdAt", "createdBy"],
    updates: [
      { ...ALL_OF_ENTRY, value: "evil.example", comment: " INC-7 ", acceptRisk: "until May" },
      { ...ALL_OF_ENTRY, verdictScope: "global", acceptRisk: "until May" },
      ALL_OF_ENTRY,
    ],
  },
  {
    label: "a VIP",
    kind: "vipEmployee",
    inputs: { email: LENA, comment: "Treasury" },
    unknownOutputs: ["source", "addedBy", "dateAdded", "fullName", "jobTitle", "department"],
    updates: [{ email: LENA, comment: "Head of Treasury" }, { email: LENA, onDelete: "keep" }, { email: LENA }],
  },
  {
    label: "a whole allow/deny list",
    kind: "allowDenyList",
    inputs: { entries: { "listed.example": "deny: INC-7", "partner.example": "allow" } },
    unknownOutputs: [],
    updates: [{ entries: { "listed.example": "deny: INC-8" }, mode: "exclusive", ignore: ["*.test"] }],
  },
  {
    label: "a whole VIP list",
    kind: "vipList",
    inputs: { members: { "diego.santos@acme.example": "CFO" }, onDelete: "keep" },
    unknownOutputs: [],
    updates: [{ members: { "diego.santos@acme.example": "", "yuki.sato@acme.example": "" } }],
  },
];

describe.each(CASES)("$label", ({ kind, inputs, unknownOutputs, updates }) => {
  it("is previewed as it is applied, without a request", async () => {
    const { provider, sandbox } = tenant();
    const resource = provider.getResource(kind);
    sandbox.clearRequests();
    const previewed = await resource.create(inputs, PREVIEW);
    expect(previewed.id).toBe("");
    expect(sandbox.requests).toEqual([]);
    const createdResource = await resource.create(inputs);
    const { people: _fingerprint, ...knownOutputs } = createdResource.properties;
    const unknown = Object.fromEntries(unknownOutputs.map((name) => [name, UNKNOWN]));
    expect(previewed.properties).toEqual({
      ...(unknownOutputs.length === 0 ? knownOutputs : omitUnknown(knownOutputs)),
      ...unknown,
    });
    expect(previewed.properties["tenant"]).toBe(getHost());

    let { properties } = createdResource;
    let before = inputs;
    for (const change of updates) {
      sandbox.clearRequests();
      const next = await resource.update(createdResource.id, properties, change, before, PREVIEW);
      expect(sandbox.requests).toEqual([]);
      properties = await resource.update(createdResource.id, properties, change, before);
      expect(next).toEqual(properties);
      before = change;
    }
  });

  /** Returns the declared properties and those that follow from them. */
  function omitUnknown(properties: ResourceProperties): ResourceProperties {
    return Object.fromEntries(Object.entries(properties).filter(([name]) => !unknownOutputs.includes(name)));
  }
});

it("leaves only values that depend on unknown arguments unknown", async () => {
  const { provider, sandbox } = tenant();
  sandbox.clearRequests();
  const { properties: entry } = await provider
    .getResource("allowDenyEntry")
    .create({ list: UNKNOWN, value: UNKNOWN, comment: "INC-7" }, PREVIEW);
  const rest = { comment: "INC-7", verdictScope: "global", tenant: getHost() };
  expect(entry).toMatchObject({ ...rest, list: UNKNOWN, value: UNKNOWN, entryType: UNKNOWN });
  const list = provider.getResource("allowDenyList");
  const entries = { "evil.example": UNKNOWN };
  expect((await list.create({ entries }, PREVIEW)).properties).toEqual({ entries, tenant: getHost() });
  expect((await list.create({ entries: UNKNOWN }, PREVIEW)).properties).toEqual({
    entries: UNKNOWN,
    tenant: getHost(),
  });
  expect(sandbox.requests).toEqual([]);
});

it("leaves `addedBy` unknown for the first comment on an auto-detected VIP", async () => {
  const { provider } = tenant();
  const state = { email: LENA, source: "auto", dateAdded: "2025-01-13", fullName: "Lena Hartmann" };
  const inputs = { email: LENA, comment: "Treasury" };
  const next = await provider.getResource("vipEmployee").update(LENA, state, inputs, { email: LENA }, PREVIEW);
  const unknownOutputs = { source: UNKNOWN, addedBy: UNKNOWN, dateAdded: UNKNOWN };
  expect(next).toEqual({ ...inputs, ...unknownOutputs, fullName: "Lena Hartmann", tenant: getHost() });
});
