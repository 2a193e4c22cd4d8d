import { describe, expect, it } from "vitest";
import { AllowDenyEntries, type EntryChange, type NewEntry } from "../../../provider/client/allow-deny-entries";
import type { Transport } from "../../../provider/client/transport";
import { VipEmployees } from "../../../provider/client/vip-employees";
import type { AllowDenyEntryInputs, VipEmployeeInputs } from "../../../provider/model/arguments";
import { decodeEntry, decodeVip, encodeEntry, encodeVip } from "../../../provider/model/encoded-list";
import {
  buildChangeBody,
  buildCreateBody,
  buildRowValues,
  DETAIL_NAMES,
  ENTRY_FIELD_DEFINITIONS,
  type FieldDefinition,
  getComparableValues,
  getDetailValues,
  isSameEntryState,
  pickEntryState,
  pickRowValues,
  pickSentFields,
  VIP_FIELD_DEFINITIONS,
} from "../../../provider/model/entry-fields";

/** An entry with every field set. */
const ENTRY: Required<AllowDenyEntryInputs> = {
  list: "allow",
  value: "partner.example",
  entryType: "domain",
  verdictScope: "graymail",
  comment: "Contract 7",
  acceptRisk: "they have no other domain",
  adopt: true,
};

const FIELDS = Object.entries<FieldDefinition>(ENTRY_FIELD_DEFINITIONS);
const listFieldNames = (isMeant: (field: FieldDefinition) => boolean): string[] =>
  FIELDS.flatMap(([name, field]) => (isMeant(field) ? [name] : []));

/** A client that returns the bodies of its requests. */
const client = new AllowDenyEntries({
  send: async ({ body }: { readonly body?: unknown }) => body,
} as unknown as Transport);

describe("defined entry field", () => {
  it("is sent by the client when an entry is created", async () => {
    const body = buildCreateBody(ENTRY_FIELD_DEFINITIONS, { ...ENTRY });
    expect(await client.create(body as unknown as NewEntry)).toEqual(body);
    expect(Object.keys(body)).toHaveLength(listFieldNames(({ wire }) => wire !== undefined).length);
  });

  it("is sent by the client when it changes in place", async () => {
    const existingFields = Object.fromEntries(FIELDS.map(([name, { wire = name }]) => [wire, "another"]));
    const body = buildChangeBody(ENTRY_FIELD_DEFINITIONS, existingFields, { ...ENTRY });
    expect(await client.update("id", body as EntryChange)).toEqual(body);
    const inPlace = listFieldNames(({ wire, change }) => wire !== undefined && change === "in place");
    expect(Object.keys(body)).toHaveLength(inPlace.length);
  });

  it("round-trips through a service row when it is sent", () => {
    const row = buildRowValues(ENTRY_FIELD_DEFINITIONS, { ...ENTRY });
    expect(Object.keys(pickRowValues(ENTRY_FIELD_DEFINITIONS, row, {}))).toEqual(
      listFieldNames(({ wire }) => wire !== undefined),
    );
  });

  it("has one place in a whole list unless it is a run option", () => {
    expect(listFieldNames(({ listedIn, change }) => (listedIn === undefined) !== (change === "none"))).toEqual([]);
  });

  it("round-trips through the text of a whole list", () => {
    const { adopt: _option, ...listed } = ENTRY;
    expect(decodeEntry("partner.example (graymail)", encodeEntry(ENTRY))).toEqual(listed);
  });

  it("appears in a plan when it is part of a whole list", () => {
    const text = listFieldNames(({ listedIn }) => listedIn === "text");
    expect(Object.keys(pickEntryState(ENTRY)).sort()).toEqual(text.sort());
    for (const [name, field] of FIELDS) {
      if (field.listedIn !== "text") continue;
      const { [name as "comment"]: _value, ...without } = ENTRY;
      const isSent = field.wire !== undefined;
      expect([name, isSameEntryState(pickEntryState(without), pickEntryState(ENTRY))]).toEqual([name, !isSent]);
      expect([name, Object.hasOwn(pickSentFields(ENTRY), name)]).toEqual([name, isSent]);
    }
    expect(getComparableValues(ENTRY)).toHaveLength(DETAIL_NAMES.length + 1);
  });

  it("exists for entries when it exists in the text of VIPs", () => {
    const vip = Object.entries<FieldDefinition>(VIP_FIELD_DEFINITIONS).filter(
      ([, { listedIn }]) => listedIn === "text",
    );
    expect(vip.filter(([name]) => !Object.hasOwn(ENTRY_FIELD_DEFINITIONS, name))).toEqual([]);
  });
});

/** A VIP that says something in every field. */
const VIP: Required<VipEmployeeInputs> = { email: "ceo@company.example", comment: "Chief", onDelete: "keep" };

describe("defined VIP field", () => {
  const listVipFields = (isMeant: (field: FieldDefinition) => boolean): string[] =>
    Object.entries<FieldDefinition>(VIP_FIELD_DEFINITIONS).flatMap(([name, field]) => (isMeant(field) ? [name] : []));

  it("is sent by the client with the VIP", async () => {
    const bodies: unknown[] = [];
    const vips = new VipEmployees({
      send: async ({ body }: { readonly body?: unknown }) => {
        bodies.push(body);
        return { added: [], already_vip: [], not_in_org: [] };
      },
    } as unknown as Transport);
    const { email, ...fields } = buildCreateBody(VIP_FIELD_DEFINITIONS, VIP);
    await vips.add([VIP.email], VIP.comment);
    await vips.editComment(VIP.email, VIP.comment);
    expect(bodies).toEqual([
      { emails: [email], ...fields },
      { email, ...buildChangeBody(VIP_FIELD_DEFINITIONS, {}, VIP) },
    ]);
  });

  it("round-trips as a VIP through the text of a whole list", () => {
    const listed = Object.fromEntries(
      listVipFields(({ listedIn }) => listedIn !== undefined).map((name) => [name, VIP[name as "email"]]),
    );
    expect(decodeVip(VIP.email, encodeVip(VIP))).toEqual(listed);
    expect(decodeVip(VIP.email, encodeVip({ ...VIP, ...getDetailValues({}) }))).toEqual({ email: VIP.email });
  });
});
