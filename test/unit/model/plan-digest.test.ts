import { describe, expect, it } from "vitest";
import {
  type DigestedChange,
  formatPlanDigest,
  hashChanges,
  hashJson,
  hashTenant,
  isLegacyDigest,
  parsePlanDigest,
} from "../../../provider/model/plan-digest";

const PARTS = { tenant: "0123456789abcdef", desired: "1".repeat(16), observed: "a".repeat(16) };
const DIGEST = `v2-0123456789abcdef-${"1".repeat(16)}-${"a".repeat(16)}`;
const LEGACY = DIGEST.replace("v2", "v1");

describe("plan digest", () => {
  it("has its version first", () => {
    expect(formatPlanDigest(PARTS)).toBe(DIGEST);
  });

  it("has three parts", () => {
    expect(parsePlanDigest(DIGEST)).toEqual(PARTS);
  });

  it("is read with white space around it", () => {
    expect(parsePlanDigest(` ${DIGEST}\n`)).toEqual(PARTS);
  });

  it.each([
    "",
    LEGACY,
    `x${DIGEST}`,
    `${DIGEST}x`,
    `${DIGEST}-${"b".repeat(16)}`,
    DIGEST.slice(0, -1),
    DIGEST.toUpperCase(),
    DIGEST.replace("0123456789abcdef", "0123"),
  ])("rejects %j as a digest", (text) => {
    expect(parsePlanDigest(text)).toBeUndefined();
  });
});

describe("legacy digest", () => {
  it.each([LEGACY, ` ${LEGACY}\n`])("recognizes %j", (text) => {
    expect(isLegacyDigest(text)).toBe(true);
  });

  it.each([DIGEST, `x${LEGACY}`, `${LEGACY}x`, "v1", `${LEGACY}-${"b".repeat(16)}`])("doesn't recognize %j", (text) => {
    expect(isLegacyDigest(text)).toBe(false);
  });
});

describe("hashTenant", () => {
  it("distinguishes hosts", () => {
    expect(hashTenant("a.example", "acme")).not.toBe(hashTenant("b.example", "acme"));
  });

  it("distinguishes stacks", () => {
    expect(hashTenant("a.example", "acme")).not.toBe(hashTenant("a.example", "globex"));
  });

  it("hashes a tenant without a stack like one with an empty name", () => {
    expect(hashTenant("a.example", undefined)).toBe(hashJson(["a.example", ""]));
  });
});

describe("hashChanges", () => {
  const change: DigestedChange = {
    kind: "update",
    key: "deny domain evil.example",
    before: { list: "deny", comment: "old", createdBy: "Dana", createdAt: "2026-01-01" },
    after: { list: "deny", comment: "new" },
  };
  const other: DigestedChange = { ...change, key: "deny domain other.example" };

  it("ignores the order of the changes", () => {
    expect(hashChanges([change, other])).toBe(hashChanges([other, change]));
  });

  it("distinguishes no change from one", () => {
    expect(hashChanges([])).not.toBe(hashChanges([change]));
  });

  it.each<[string, Partial<DigestedChange>]>([
    ["kind", { kind: "create" }],
    ["key", { key: "deny domain other.example" }],
    ["missing state before", { before: undefined }],
    ["missing state after", { after: undefined }],
    ["comment before", { before: { ...change.before, comment: "other" } }],
    ["comment after", { after: { ...change.after, comment: "other" } }],
    ["author", { before: { ...change.before, createdBy: "Robin" } }],
    ["missing author", { before: { ...change.before, createdBy: undefined } }],
    ["creation time", { before: { ...change.before, createdAt: "2026-01-02" } }],
    ["missing creation time", { before: { ...change.before, createdAt: undefined } }],
    ["replaced entry", { mayReplace: [{ key: "allow domain evil.example", before: { list: "allow" } }] }],
  ])("distinguishes changes by %s", (_name, difference) => {
    expect(hashChanges([{ ...change, ...difference }])).not.toBe(hashChanges([change]));
  });

  it("hashes a missing author like an empty one", () => {
    const anonymous = { ...change, before: { ...change.before, createdBy: undefined, createdAt: undefined } };
    expect(hashChanges([anonymous])).toBe(
      hashChanges([{ ...change, before: { ...change.before, createdBy: "", createdAt: "" } }]),
    );
  });

  it("distinguishes replaced entries by their state", () => {
    const [allow, deny] = (["allow", "deny"] as const).map((list) => [
      { ...change, mayReplace: [{ key: "domain evil.example", before: { list } }] },
    ]);
    expect(hashChanges(allow ?? [])).not.toBe(hashChanges(deny ?? []));
  });

  it("keeps its value across releases", () => {
    const replacing = { ...change, mayReplace: [{ key: "allow domain evil.example", before: change.after ?? {} }] };
    expect(hashChanges([replacing, other])).toBe("b41d2c44d59c3015");
  });
});

describe("hashJson", () => {
  it("has 16 hexadecimal digits", () => {
    expect(hashJson({})).toMatch(/^[0-9a-f]{16}$/);
  });

  it("depends on the order of properties", () => {
    expect(hashJson({ a: 1, b: 2 })).not.toBe(hashJson({ b: 2, a: 1 }));
  });
});
