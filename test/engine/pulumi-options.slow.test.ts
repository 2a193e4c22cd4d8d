import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

/*
 * The effect of Pulumi's resource options and flags, for both providers side by side. One stack goes through all tests,
 * one per row of docs/reference/resource-options.md and in the same order.
 */

const MODULES = { dynamic: "pulumi-email-security", native: "pulumi-email-security/native" } as const;
type ProviderKind = keyof typeof MODULES;
const PROVIDERS = Object.keys(MODULES) as ProviderKind[];

/** The people for each provider. Automatic detection finds none of them. */
const PEOPLE = {
  dynamic: ["yuki.sato", "lena.hartmann", "mei.chen", "greta.nilsen"],
  native: ["diego.santos", "ben.adeyemi", "chloe.dubois", "jonas.weber"],
} as const;

function getMailbox(providerKind: ProviderKind, index: number): string {
  return `${PEOPLE[providerKind][index]}@acme.example`;
}

/** A resource that each provider declares. Its name is prefixed with the provider. */
interface ResourceSource {
  readonly kind: "AllowDenyEntry" | "AllowDenyList" | "VipEmployee" | "VipList";
  readonly args: (providerKind: ProviderKind) => object;
  /** Source code, in which `of` contains the provider's other resources. */
  readonly options?: string;
}

type ResourceSources = Readonly<Record<string, ResourceSource>>;

function buildSource(program: ResourceSources, more: (providerKind: ProviderKind) => string = () => ""): string {
  const resources = PROVIDERS.flatMap((providerKind) => [
    `{ const of: any = {}; const prefix = "${providerKind}";`,
    ...Object.entries(program).map(
      ([name, { kind, args, options = "{}" }]) =>
        `of.${name} = new ${providerKind}.${kind}("${providerKind}-${name}", ${JSON.stringify(args(providerKind))}, ${options});`,
    ),
    more(providerKind),
    "}",
  ]);
  const imports = PROVIDERS.map((providerKind) => `import * as ${providerKind} from "${MODULES[providerKind]}";`);
  return ['import * as pulumi from "@pulumi/pulumi";', ...imports, ...resources].join("\n");
}

function declareEntry(value: string, comment = "first", options?: string): ResourceSource {
  return {
    kind: "AllowDenyEntry",
    args: (providerKind) => ({ list: "deny", value: `${value}-${providerKind}.example`, comment }),
    ...(options === undefined ? {} : { options }),
  };
}

/** Returns source for a component that passes its own Provider down to its entry. */
function buildTeamSource(providerKind: ProviderKind): string {
  return `
    class Team extends pulumi.ComponentResource {
      constructor() {
        const { EMAIL_SECURITY_BASE_URL, EMAIL_SECURITY_API_KEY } = process.env;
        const own = new ${providerKind}.Provider(prefix + "-own", { baseUrl: EMAIL_SECURITY_BASE_URL!, apiKey: EMAIL_SECURITY_API_KEY! });
        super("acme:index:Team", prefix + "-team", {}, { providers: [own] });
        new ${providerKind}.AllowDenyEntry(prefix + "-child", { list: "deny", value: "child-${providerKind}.example" }, { parent: this });
      }
    }
    new Team();
  `;
}

const kept: ResourceSources = {
  kept: declareEntry("kept", "first", "{ retainOnDelete: true }"),
  keptList: {
    kind: "AllowDenyList",
    args: (providerKind) => ({ entries: { [`kept-one-${providerKind}.example`]: "deny: first" } }),
    options: "{ retainOnDelete: true }",
  },
  keptVip: {
    kind: "VipEmployee",
    args: (providerKind) => ({ email: getMailbox(providerKind, 0) }),
    options: "{ retainOnDelete: true }",
  },
  keptVips: {
    kind: "VipList",
    args: (providerKind) => ({ members: { [getMailbox(providerKind, 1)]: "first" } }),
    options: "{ retainOnDelete: true }",
  },
};

const guarded = declareEntry("guarded", "first", "{ protect: true }");

/** A list with two ignored keys. */
function declarePickyList(entries: Readonly<Record<string, string>>): ResourceSource {
  return {
    kind: "AllowDenyList",
    args: (providerKind) => ({
      entries: Object.fromEntries(
        Object.entries(entries).map(([name, text]) => {
          const [value, scope = ""] = name.split(" ");
          return [`${value}-${providerKind}.example${scope && ` ${scope}`}`, text];
        }),
      ),
    }),
    options: `{ ignoreChanges: ['entries["a-' + prefix + '.example"]', 'entries["b-' + prefix + '.example (graymail)"]'] }`,
  };
}

let sandbox: Sandbox;
let project: EngineProject;
/** The IDs that the first run created, by value. */
let ids: ReadonlyMap<string, string>;
/** While set, responses are delayed until it resolves. */
let hold: Promise<undefined> | undefined;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: "empty",
    intercept: ({ method, body }) =>
      method === "POST" && JSON.stringify(body ?? "").includes("slow-") ? hold : undefined,
  });
  project = await EngineProject.create({
    program: buildSource(
      {
        ...kept,
        guarded,
        masked: declareEntry("masked", "canary", '{ additionalSecretOutputs: ["comment"] }'),
        base: declareEntry("base"),
        follower: declareEntry("follower", "first", "{ deletedWith: of.base }"),
        before: declareEntry("before-1", "first", "{ deleteBeforeReplace: true }"),
        after: declareEntry("after-1"),
        person: {
          kind: "VipEmployee",
          args: (providerKind) => ({ email: getMailbox(providerKind, 2) }),
          options: "{ deleteBeforeReplace: true }",
        },
        picky: declarePickyList({ a: "deny: first", "b (graymail)": "allow" }),
      },
      buildTeamSource,
    ),
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  await project.up();
  ids = new Map(sandbox.allowDenyEntries("acme").map(({ value, id }) => [value, id]));
});

afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
  await sandbox?.close();
});

/** Returns the service's entries, such as "deny kept-native.example first". */
function listEntries(): string[] {
  return sandbox.allowDenyEntries("acme").map(({ list, value, comment }) => `${list} ${value} ${comment}`);
}

function listVips(): string[] {
  return sandbox
    .vips("acme")
    .filter(({ source }) => source !== "auto")
    .map(({ email }) => email);
}

/** Returns the writes since the requests were last cleared. */
function formatWrites(): string[] {
  return sandbox.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path, body }) => `${method} ${path.split("/settings/")[1]} ${JSON.stringify(body ?? "")}`);
}

/** Returns the index of the first write that contains the text. */
function findWriteIndex(text: string): number {
  return formatWrites().findIndex((write) => write.includes(text));
}

const renderForBoth = (text: (providerKind: ProviderKind) => string): string[] => PROVIDERS.map(text);

it("refuses to delete a resource with `protect`", async () => {
  await project.write(buildSource({ ...kept }));
  const { code, output } = await project.run("preview");
  expect(code).not.toBe(0);
  expect(output).toMatch(/(dynamic|native)-guarded.* cannot be deleted/s);
});

const changed: ResourceSources = {
  guarded,
  masked: declareEntry("masked", "canary", '{ additionalSecretOutputs: ["comment"] }'),
  before: declareEntry("before-2", "first", "{ deleteBeforeReplace: true }"),
  after: declareEntry("after-2"),
  moved: declareEntry("moved"),
  person: {
    kind: "VipEmployee",
    args: (providerKind) => ({ email: getMailbox(providerKind, 3) }),
    options: "{ deleteBeforeReplace: true }",
  },
  picky: declarePickyList({ a: "deny: changed", c: "deny: first" }),
};

/** Two of these resources under other names. */
const renamed: ResourceSources = { renamed: declareEntry("after-2"), place: declareEntry("moved") };

it("keeps entries and VIPs at the service with `retainOnDelete`", async () => {
  sandbox.clearRequests();
  await project.write(buildSource(changed, buildTeamSource));
  await project.up();
  expect(listEntries()).toEqual(
    expect.arrayContaining(
      PROVIDERS.flatMap((providerKind) => [
        `deny kept-${providerKind}.example first`,
        `deny kept-one-${providerKind}.example first`,
      ]),
    ),
  );
  expect(listVips()).toEqual(
    expect.arrayContaining(
      PROVIDERS.flatMap((providerKind) => [getMailbox(providerKind, 0), getMailbox(providerKind, 1)]),
    ),
  );
  expect(sandbox.exclusions("acme").sort()).toEqual(
    renderForBoth((providerKind) => getMailbox(providerKind, 2)).sort(),
  );
  const removedIds = [...ids].filter(([, id]) => findWriteIndex(`DELETE allow_deny_entries/${id}`) >= 0);
  expect(removedIds.map(([value]) => value).sort()).toEqual(
    PROVIDERS.flatMap((providerKind) => [
      `after-1-${providerKind}.example`,
      `base-${providerKind}.example`,
      `before-1-${providerKind}.example`,
    ]).sort(),
  );
});

it("keeps a resource at the service with `deletedWith`", () => {
  const there = listEntries().filter((entry) => /(base|follower)-/.test(entry));
  expect(there.sort()).toEqual(renderForBoth((providerKind) => `deny follower-${providerKind}.example first`).sort());
});

it("deletes the old entry first only with `deleteBeforeReplace`", () => {
  const formatDeletion = (value: string) => findWriteIndex(`DELETE allow_deny_entries/${ids.get(`${value}.example`)}`);
  for (const providerKind of PROVIDERS) {
    expect(formatDeletion(`before-1-${providerKind}`)).toBeLessThan(findWriteIndex(`before-2-${providerKind}`));
    expect(formatDeletion(`after-1-${providerKind}`)).toBeGreaterThan(findWriteIndex(`after-2-${providerKind}`));
    expect(findWriteIndex(getMailbox(providerKind, 2))).toBeLessThan(findWriteIndex(getMailbox(providerKind, 3)));
  }
});

it("keeps single keys of a list unchanged with `ignoreChanges`", () => {
  const there = listEntries().filter((entry) => / [abc]-(dynamic|native)/.test(entry));
  expect(there.sort()).toEqual(
    PROVIDERS.flatMap((providerKind) => [
      `allow b-${providerKind}.example `,
      `deny a-${providerKind}.example first`,
      `deny c-${providerKind}.example first`,
    ]).sort(),
  );
});

it("encrypts `additionalSecretOutputs`", async () => {
  const { resources } = await project.exportState();
  const findResources = (name: string) => resources.filter(({ urn }) => urn.endsWith(`-${name}`));
  expect(findResources("masked").map(({ outputs }) => typeof outputs?.["comment"])).toEqual(["object", "object"]);
});

it("passes the `providers` of a `parent` component to its children", async () => {
  const { resources } = await project.exportState();
  const findResources = (name: string) => resources.filter(({ urn }) => urn.endsWith(`-${name}`));
  expect(
    findResources("child")
      .map(({ provider }) => /::(\w+-own)::/.exec(provider ?? "")?.[1])
      .sort(),
  ).toEqual(renderForBoth((providerKind) => `${providerKind}-own`).sort());
  expect(findResources("child").map(({ urn }) => urn.includes("acme:index:Team$"))).toEqual([true, true]);
});

it("changes only the resources selected by `--target`", async () => {
  const { after: _after, moved: _moved, ...rest } = changed;
  await project.write(buildSource({ ...rest, ...renamed, masked: declareEntry("masked", "changed") }, buildTeamSource));
  sandbox.clearRequests();
  await project.up("--target", "**-renamed", "--target", "**-moved");
  // The new resource of the moved entry wasn't selected, so the entry is only deleted.
  expect(formatWrites().map((write) => write.replace(/ade_\w+/, ""))).toEqual(
    renderForBoth(() => 'DELETE allow_deny_entries/ ""'),
  );
  expect(listEntries().filter((entry) => entry.includes("moved-"))).toEqual([]);
});

it("changes only the resources that `--exclude` doesn't select", async () => {
  const { after: _after, moved: _moved, ...rest } = changed;
  await project.write(
    buildSource({ ...kept, ...rest, ...renamed, masked: declareEntry("masked", "changed") }, buildTeamSource),
  );
  sandbox.clearRequests();
  const output = await project.up("--exclude", "**-masked");
  expect(output).toContain("is kept: the program declares it");
  expect(formatWrites().filter((write) => !/^POST .*"moved-/.test(write))).toEqual([]);
  expect(listEntries()).toEqual(
    expect.arrayContaining(
      PROVIDERS.flatMap((providerKind) => [
        `deny after-2-${providerKind}.example first`,
        `deny moved-${providerKind}.example first`,
      ]),
    ),
  );
});

it("changes resources in place with `--replace` and `replaceWith`", async () => {
  const { after: _after, moved: _moved, ...rest } = changed;
  const addFirstOption = (source: ResourceSource): ResourceSource => ({
    ...source,
    options: "{ replaceWith: [of.before] }",
  });
  await project.write(
    buildSource(
      {
        ...rest,
        before: declareEntry("before-3"),
        masked: declareEntry("masked", "replaced"),
        // A replacement declares the ignored keys of a list again.
        picky: declarePickyList({ a: "deny: first", "b (graymail)": "allow", c: "deny: first" }),
        ...renamed,
        ...kept,
        keptList: addFirstOption(kept["keptList"] as ResourceSource),
        keptVip: addFirstOption(kept["keptVip"] as ResourceSource),
        keptVips: addFirstOption(kept["keptVips"] as ResourceSource),
      },
      buildTeamSource,
    ),
  );
  sandbox.clearRequests();
  const output = await project.up(
    "--refresh",
    ...["renamed", "picky", "person", "masked"].map((name) => `--replace=**-${name}`),
  );
  expect(output).toMatch(/16 replaced/);
  const getKeptId = (providerKind: ProviderKind) => ids.get(`masked-${providerKind}.example`);
  expect(
    formatWrites()
      .filter((write) => write.includes("replaced"))
      .sort(),
  ).toEqual(
    renderForBoth(
      (providerKind) => `PATCH allow_deny_entries/${getKeptId(providerKind)} {"comment":"replaced"}`,
    ).sort(),
  );
  // The other writes replace the entry with a new value: it is created before the old one is deleted.
  expect(formatWrites().filter((write) => write.includes("before-3-"))).toHaveLength(2);
  expect(formatWrites()).toHaveLength(6);
  expect(listVips().sort()).toEqual(
    PROVIDERS.flatMap((providerKind) => [
      getMailbox(providerKind, 0),
      getMailbox(providerKind, 1),
      getMailbox(providerKind, 3),
    ]).sort(),
  );
  expect(sandbox.exclusions("acme")).toHaveLength(2);
});

it("continues in the run after `customTimeouts` expired", async () => {
  const buildTimeoutProgram = (create: string): string => {
    const timeouts = `{ customTimeouts: { create: "${create}" } }`;
    return buildSource(
      {
        guarded,
        slow: declareEntry("slow", "first", timeouts),
        slowList: {
          kind: "AllowDenyList",
          args: (providerKind) => ({
            entries: {
              [`slow-one-${providerKind}.example`]: "deny: first",
              [`quick-${providerKind}.example`]: "deny: first",
            },
          }),
          options: timeouts,
        },
      },
      buildTeamSource,
    );
  };
  await project.write(buildTimeoutProgram("1s"));
  const gate = Promise.withResolvers<undefined>();
  sandbox.clearRequests();
  hold = gate.promise;
  const { code, output } = await project.run(
    "up",
    "--yes",
    "--skip-preview",
    // Without this flag, the first failure keeps other resources from starting.
    "--continue-on-error",
    "--target",
    "**-slow",
    "--target",
    "**-slowList",
  );
  expect(code).not.toBe(0);
  for (const kind of ["AllowDenyEntry", "AllowDenyList"]) {
    const timeoutMessages = output.match(
      new RegExp(`the timeout of 1 s of customTimeouts\\.create of this ${kind} was exceeded`, "g"),
    );
    expect(timeoutMessages?.length).toBeGreaterThanOrEqual(2);
  }
  hold = undefined;
  gate.resolve(undefined);
  // One second may be too short on a busy machine.
  await project.write(buildTimeoutProgram("5m"));
  await project.up("--target", "**-slow", "--target", "**-slowList");
  expect(listEntries().filter((entry) => entry.includes("slow-"))).toHaveLength(4);
  // The writes with an unknown outcome had taken effect, and aren't sent again.
  const sent = formatWrites().filter((write) => write.includes("slow-"));
  expect(new Set(sent).size).toBe(sent.length);
  const { resources } = await project.exportState();
  const lists = resources.filter(({ urn }) => urn.endsWith("-slowList"));
  expect(lists.map(({ initErrors, outputs }) => [initErrors, Object.keys(outputs?.["entries"] ?? {}).length])).toEqual([
    [undefined, 2],
    [undefined, 2],
  ]);
});
