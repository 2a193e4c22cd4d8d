import * as pulumi from "@pulumi/pulumi";
import * as native from "pulumi-email-security/native";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dynamic from "../../../provider/index";

/** The registrations with Pulumi, as a program's tests see them through mocks. */
const registered: { readonly type: string; readonly inputs: Record<string, unknown> }[] = [];

beforeEach(() => {
  registered.length = 0;
  pulumi.runtime.setMocks({
    newResource: ({ type, id, name, inputs }) => {
      registered.push({ type, inputs });
      return { id: id ?? name, state: inputs };
    },
    call: ({ inputs }) => inputs,
  });
});

/** Resolves an output's value once all declared resources are registered. */
async function resolveOutput<T>(output: pulumi.Output<T>): Promise<T> {
  return await new Promise((resolve) => void output.apply(resolve));
}

const ENTRIES = { "a.example": "allow", "evil.example": "deny: INC-7" };

describe("list in a program", () => {
  it.each<[string, dynamic.AllowDenyListArgs["entries"]]>([
    ["a map of texts", ENTRIES],
    ["a map of objects", { "EVIL.example": { list: "deny", comment: "INC-7" }, "a.example": "allow" }],
    [
      "an array",
      [
        { list: "deny", value: "Evil.example.", comment: "INC-7" },
        { list: "allow", value: "a.example" },
      ],
    ],
    [
      "an output",
      pulumi.output([
        { list: "deny" as const, value: "evil.example", comment: "INC-7" },
        { list: "allow" as const, value: "a.example" },
      ]),
    ],
    ["a promise", Promise.resolve(ENTRIES)],
  ])("registers a keyed map when declared as %s", async (_form, entries) => {
    const seen: unknown[] = [];
    const transformations: pulumi.ResourceTransformation[] = [
      ({ props, opts }) => {
        seen.push(props["entries"]);
        return { props, opts };
      },
    ];
    const list = new dynamic.AllowDenyList("list", { entries }, { transformations });
    expect(await resolveOutput(list.entries)).toEqual(ENTRIES);
    expect(await resolveOutput(pulumi.output(seen[0]))).toEqual(ENTRIES);
    expect(registered).toMatchObject([{ inputs: { entries: ENTRIES } }]);
  });

  it("passes on unresolved or invalid content unchanged", async () => {
    const later = pulumi.output("INC-7");
    const list = new dynamic.AllowDenyList("later", {
      entries: [{ list: "deny", value: "evil.example", comment: later }],
    });
    await resolveOutput(list.urn);
    const wrong = new dynamic.VipList("wrong", { members: ["nobody"] });
    await resolveOutput(wrong.urn);
    expect(registered.map(({ inputs }) => inputs["entries"] ?? inputs["members"])).toEqual([
      [{ list: "deny", value: "evil.example", comment: "INC-7" }],
      ["nobody"],
    ]);
  });

  it("accepts an element that a transformation adds by key", async () => {
    const list = new dynamic.VipList(
      "list",
      { members: [{ email: "CEO@acme.example", comment: "Chief executive" }] },
      {
        transformations: [
          ({ props, opts }) => ({
            props: { ...props, members: { ...props["members"], "cfo@acme.example": "" } },
            opts,
          }),
        ],
      },
    );
    expect(await resolveOutput(list.members)).toEqual({
      "ceo@acme.example": "Chief executive",
      "cfo@acme.example": "",
    });
  });
});

describe("ignoreChanges", () => {
  const board = { members: { "ceo@acme.example": "" } };

  it.each([
    ['members["CEO@Acme.example"]', 'members["ceo@acme.example"]'],
    ["members.ceo@acme.example", 'members["ceo@acme.example"]'],
    ['members["ceo@acme.example"].comment', 'members["ceo@acme.example"]'],
    ["members[0]", 'members["ceo@company.example"]'],
    ["onDelte", "onDelete"],
    ["Members", "members"],
  ])("rejects a path that matches nothing, with a suggestion: %s", (path, right) => {
    expect(() => new dynamic.VipList("list", board, { ignoreChanges: [path] })).toThrow(
      `ignoreChanges: ${path} has no effect; write ${right}.`,
    );
  });

  it.each(["*", "members", "members[*]", 'members["*"]', 'members["ceo@acme.example"]', "onDelete", "tags"])(
    "accepts a path that may match: %s",
    async (path) => {
      await resolveOutput(new dynamic.VipList("list", board, { ignoreChanges: [path] }).urn);
      expect(registered).toHaveLength(1);
    },
  );

  it("matches an entry by its state key with its scope", () => {
    const entries = { "mail.example (graymail)": "deny" };
    const paths = ['entries["mail.example (graymail)"]'];
    new dynamic.AllowDenyList("list", { entries }, { ignoreChanges: paths });
    expect(
      () => new dynamic.AllowDenyList("other", { entries }, { ignoreChanges: ['entries["Mail.example (graymail)"]'] }),
    ).toThrow('write entries["mail.example (graymail)"].');
  });

  it("rejects an element path for an array that can't be keyed", () => {
    const entries = [{ list: "deny" as const, value: "evil.example", comment: pulumi.output("INC-7") }];
    expect(
      () => new dynamic.AllowDenyList("list", { entries }, { ignoreChanges: ['entries["evil.example"]'] }),
    ).toThrow("Write entries as a map, with the keys of its elements.");
    new dynamic.AllowDenyList("list", { entries }, { ignoreChanges: ["entries"] });
  });
});

describe("unknown argument name", () => {
  const tenant = { baseUrl: "https://service.example", apiKey: "k" };
  const castArguments = (args: object): never => args as never;

  it.each<[string, () => unknown, string]>([
    [
      "a Provider's",
      () => new dynamic.Provider("acme", castArguments({ ...tenant, ownDomain: ["acme.example"] })),
      'Provider "acme": "ownDomain" isn\'t an argument; did you mean ownDomains?',
    ],
    [
      "a Provider's over the plugin",
      () => new native.Provider("acme", castArguments({ ...tenant, owndomains: ["acme.example"] })),
      'Provider: "owndomains" isn\'t an argument; did you mean ownDomains?',
    ],
    [
      "a VIP's over the plugin",
      () => new native.VipEmployee("ceo", castArguments({ email: "ceo@acme.example", ondelete: "keep" })),
      'VipEmployee: "ondelete" isn\'t an argument; did you mean onDelete?',
    ],
    [
      "a list's over the plugin",
      () => new native.AllowDenyList("list", castArguments({ entries: {}, protected: ["evil.example"] })),
      'AllowDenyList: "protected" isn\'t an argument; did you mean protect?',
    ],
    [
      "a function's over the plugin",
      () => native.getThreats(castArguments({ minutesago: 5 })),
      'getThreats: "minutesago" isn\'t an argument; did you mean minutesAgo?',
    ],
    [
      "a function's options",
      () => dynamic.getThreatsOutput({}, castArguments({ providr: undefined, Provider: 1 })),
      'The options of a function: "Provider" isn\'t an argument; did you mean provider?',
    ],
    [
      "the settings files'",
      () => new dynamic.TenantSettings("acme", castArguments({ file: "acme.yaml", toDay: "2026-01-01" })),
      'TenantSettings "acme": "toDay" isn\'t an argument; did you mean today?',
    ],
  ])("is rejected: %s", (_label, declare, message) => {
    expect(declare).toThrow(message);
  });

  it("rejects the promise of a function", async () => {
    await expect(dynamic.getVipEmployees(castArguments({}), castArguments({ providr: {} }))).rejects.toThrow(
      '"providr" isn\'t an argument',
    );
  });
});

describe("stack configuration", () => {
  afterEach(() => pulumi.runtime.setAllConfig({}));

  const declareVip = (): unknown => new dynamic.VipEmployee("ceo", { email: "ceo@acme.example" });

  it.each([
    ["email-security:ownDomain", "(`pulumi config rm email-security:ownDomain` removes it); did you mean ownDomains?"],
    ["email-security:region", "the known names are baseUrl, apiKey, allowInsecureHttp, timeoutMs, ownDomains"],
    ["email-security:instance", "the known names are baseUrl"],
  ])("rejects the unknown key %s", (key, message) => {
    pulumi.runtime.setAllConfig({ [key]: "x" });
    expect(declareVip).toThrow(message);
  });

  it("accepts keys of other packages and of a project named email-security", () => {
    pulumi.runtime.setAllConfig({ "aws:region": "x", "email-security-other:ownDomain": "x" });
    expect(declareVip).not.toThrow();
    pulumi.runtime.setMocks(
      { newResource: ({ inputs }) => ({ id: "x", state: inputs }), call: () => ({}) },
      "email-security",
    );
    pulumi.runtime.setAllConfig({ "email-security:acmeKey": "x", "email-security:region": "x" });
    expect(declareVip).not.toThrow();
    pulumi.runtime.setAllConfig({ "email-security:ownDomain": "x" });
    expect(declareVip).toThrow("did you mean ownDomains?");
  });

  it("rejects a plaintext key", () => {
    const key = "email-security:apiKey";
    pulumi.runtime.setAllConfig({ [key]: "x" });
    expect(declareVip).toThrow("`pulumi config set --secret email-security:apiKey` prompts for it.");
    pulumi.runtime.setAllConfig({ [key]: "x" }, [key]);
    expect(declareVip).not.toThrow();
  });
});

it("rejects the import option of a dynamic resource with alternatives", () => {
  const getErrorMessage = (declare: () => unknown): string => {
    try {
      declare();
    } catch (error) {
      return String((error as Error).message);
    }
    return "";
  };
  const vip = getErrorMessage(
    () => new dynamic.VipEmployee("ceo", { email: "ceo@acme.example" }, { import: "ceo@acme.example" }),
  );
  expect(vip).toMatch(
    /^VipEmployee "ceo": the option `import` isn't supported.*`npx email-security export`.*native plugin/s,
  );
  expect(vip).not.toContain("`adopt: true`");
  const list = getErrorMessage(() => new dynamic.AllowDenyList("list", { entries: {} }, { import: "deny" }));
  expect(list).toContain("with `adopt: true` changes the others");
});
