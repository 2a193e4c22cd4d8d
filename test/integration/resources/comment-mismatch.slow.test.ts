import { describe, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { ManagedResource } from "../../support/managed-resource";
import type { ResourceProperties } from "../../support/provider-call";
import { type ManagedSandboxTenant, startSandboxTenant } from "../../support/sandbox-tenant";

const mailbox = "yuki.sato@acme.example";

interface ChangingTenant extends ManagedSandboxTenant {
  /** The comments sent, oldest first. */
  readonly sent: unknown[];
}

/** Starts a service that stores comments in a different form from the one they are sent in. */
async function startChangingTenant(keeps: (comment: string) => string): Promise<ChangingTenant> {
  const sent: unknown[] = [];
  const tenant = await startSandboxTenant({
    intercept: ({ body }) => {
      const { comment } = (body ?? {}) as { comment?: unknown };
      if (typeof comment !== "string") return undefined;
      sent.push(comment);
      Object.assign(body as object, { comment: keeps(comment) });
      return undefined;
    },
  });
  return Object.assign(tenant, { sent });
}

const normalizeSpaces = (comment: string): string => comment.replace(/\s+/g, " ").trim();

/** Each kind of resource that has a comment. */
const KINDS: [HandlerName, (comment: string) => ResourceProperties][] = [
  ["allowDenyEntry", (comment) => ({ list: "deny", value: "evil.example", comment })],
  ["allowDenyList", (comment) => ({ entries: { "evil.example": `deny: ${comment}` } })],
  ["vipEmployee", (comment) => ({ email: mailbox, comment })],
  ["vipList", (comment) => ({ members: { [mailbox]: comment } })],
];

const written = "INC-7:  phishing\n\tof May";

describe.each(KINDS)("comment of %s, when the service collapses whitespace", (kind, args) => {
  it("is written only once", async () => {
    await using tenant = await startChangingTenant(normalizeSpaces);
    const resource = new ManagedResource(tenant, kind);
    expect(await resource.up(args(written))).toMatchObject({ outcome: "created", failures: {} });
    expect(tenant.sent).toEqual([written]);
    const before = resource.properties;
    await resource.refresh();
    expect(resource.properties).toEqual(before);
    expect((await resource.up(args(written))).outcome).toBe("same");
    expect((await resource.up(args("INC-7: phishing of May"))).outcome).toBe("same");
    expect(tenant.sent).toEqual([written]);
  });

  it("is updated to another text", async () => {
    await using tenant = await startChangingTenant(normalizeSpaces);
    const resource = new ManagedResource(tenant, kind);
    await resource.up(args(written));
    expect((await resource.up(args("INC-8:  spam"))).outcome).toBe("updated");
    expect(tenant.sent).toEqual([written, "INC-8:  spam"]);
    expect((await resource.destroy()).failures).toEqual({});
    expect(tenant.sandbox.allowDenyEntries("acme")).toEqual([]);
    expect(tenant.sandbox.vips("acme").filter(({ email }) => email === mailbox)).toEqual([]);
  });

  it.each(["NFC", "NFD", "NFKC", "NFKD"])("causes no change when normalized to %s", async (form) => {
    await using tenant = await startChangingTenant((comment) => comment.normalize(form));
    const resource = new ManagedResource(tenant, kind);
    const comment = "Müller, ﬁnance e\u0301";
    expect((await resource.up(args(comment))).outcome).toBe("created");
    await resource.refresh();
    expect((await resource.up(args(comment))).outcome).toBe("same");
    expect(tenant.sent).toHaveLength(1);
  });
});

describe.each(KINDS)("comment of %s, when the service changes its text", (kind, args) => {
  it.each<[string, (comment: string) => string, string]>([
    ["cuts it", (comment) => comment.slice(0, 10), "stores only the first 10 characters"],
    [
      "escapes it",
      (comment) => comment.replaceAll("&", "&amp;"),
      'stores "ice, Bob &amp; Eve" instead of "ice, Bob & Eve"',
    ],
    ["drops it", () => "", "stores no comment"],
  ])("fails with the text to declare if the service %s", async (_name, keeps, expectedMessage) => {
    await using tenant = await startChangingTenant(keeps);
    const resource = new ManagedResource(tenant, kind);
    const { outcome, failures, reasons } = await resource.up(args("Alice, Bob & Eve"));
    expect(outcome).toBe("partial");
    const message = [failures[""], ...reasons].join("\n");
    expect(message).toContain(expectedMessage);
    expect(message).toContain("It does so on every run: declare the comment as the service stores it, or omit it");
    expect(message).not.toContain("just run again");
    // Declares the comment in the form that the message asks for.
    expect((await resource.up(args(keeps("Alice, Bob & Eve")))).failures).toEqual({});
  });
});
