import { expect, it } from "vitest";
import { isFromSettingsFiles, listDeclaredItems } from "../../../../provider/gitops/policy";

const URN = "urn:pulumi:dev::settings::pulumi-nodejs:dynamic/email-security";

function listDeclared(kind: string, props: Record<string, unknown>) {
  return listDeclaredItems({
    type: `pulumi-nodejs:dynamic/email-security:${kind}`,
    urn: `${URN}:${kind}::it`,
    props,
  });
}

it("reads each list entry with scope, accepted risk and comment", () => {
  expect(
    listDeclared("AllowDenyList", {
      mode: "exclusive",
      entries: {
        "192.0.2.7": "deny",
        "jane@partner.example (graymail)": "allow: Contract",
        "gmx.de": "deny (risk accepted: flood): INC-9",
      },
    }),
  ).toEqual([
    {
      kind: "entry",
      key: "192.0.2.7",
      list: "deny",
      value: "192.0.2.7",
      entryType: "ip",
      verdictScope: "global",
    },
    {
      kind: "entry",
      key: "jane@partner.example (graymail)",
      list: "allow",
      value: "jane@partner.example",
      entryType: "email_address",
      verdictScope: "graymail",
      comment: "Contract",
    },
    {
      kind: "entry",
      key: "gmx.de",
      list: "deny",
      value: "gmx.de",
      entryType: "domain",
      verdictScope: "global",
      comment: "INC-9",
      acceptRisk: "flood",
    },
  ]);
});

it("reads resources of the native provider plugin alike", () => {
  const props = { entries: { "192.0.2.7": "deny" } };
  const urn = "urn:pulumi:dev::settings::email-security:index:AllowDenyList::it";
  const native = listDeclaredItems({ type: "email-security:index:AllowDenyList", urn, props });
  expect(native).toEqual(listDeclared("AllowDenyList", props));
  expect(native).toHaveLength(1);
});

it("reads a single entry like one of a list", () => {
  const props = { list: "allow", value: "Partner.EXAMPLE.", comment: " Contract ", acceptRisk: "All write" };
  expect(listDeclared("AllowDenyEntry", { ...props, verdictScope: "graymail" })).toEqual(
    listDeclared("AllowDenyList", {
      entries: { "partner.example (graymail)": "allow (risk accepted: All write): Contract" },
    }),
  );
  expect(listDeclared("AllowDenyEntry", { ...props, value: "https://partner.example" })).toEqual([]);
});

it("reads VIPs from a list and from single resources", () => {
  const vip = { kind: "vip", key: "ceo@acme.example", email: "ceo@acme.example", comment: "Board" };
  expect(listDeclared("VipList", { members: { "ceo@acme.example": "Board", "cfo@acme.example": "" } })).toEqual([
    vip,
    { kind: "vip", key: "cfo@acme.example", email: "cfo@acme.example" },
  ]);
  expect(listDeclared("VipEmployee", { email: "CEO@acme.example", comment: "Board" })).toEqual([vip]);
});

it("ignores resources of other packages and kinds", () => {
  expect(listDeclared("Other", { entries: { "evil.example": "deny" } })).toEqual([]);
  const type = "aws:s3/bucket:AllowDenyList";
  expect(listDeclaredItems({ type, urn: `urn:pulumi:dev::settings::${type}::it`, props: { entries: {} } })).toEqual([]);
});

it("recognizes resources of TenantSettings by their parent type only", () => {
  const list = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
  const isFrom = (types: string, name = "it"): boolean =>
    isFromSettingsFiles({ urn: `urn:pulumi:dev::settings::${types}::${name}` });
  expect(isFrom(`email-security:index:TenantSettings$${list}`)).toBe(true);
  expect(isFrom(`acme:security:Team$email-security:index:TenantSettings$${list}`)).toBe(true);
  expect(isFrom(list)).toBe(false);
  expect(isFrom(`acme:security:Team$${list}`)).toBe(false);
  expect(isFrom(list, `email-security:index:TenantSettings$${list}`)).toBe(false);
});

it("reads the comment of a single VIP literally", () => {
  expect(listDeclared("VipEmployee", { email: "CEO@company.example", comment: "(risk accepted: none) Chief" })).toEqual(
    [{ kind: "vip", key: "ceo@company.example", email: "ceo@company.example", comment: "(risk accepted: none) Chief" }],
  );
});
