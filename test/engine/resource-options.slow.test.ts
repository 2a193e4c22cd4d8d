import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const PROVIDERS = {
  dynamic: { module: "pulumi-email-security", person: "yuki.sato" },
  native: { module: "pulumi-email-security/native", person: "diego.santos" },
} as const;

interface VipListSource {
  /**
   * Returns the source of the members of a provider's list. `person` is a mailbox that only this provider's list uses.
   */
  readonly members: (person: string) => string;
  readonly options: (person: string) => string;
  readonly name?: string;
}

/** Returns a program with one VIP list per provider. */
function buildProgram({ members, options, name = "board" }: VipListSource): string {
  const lists = Object.entries(PROVIDERS).map(
    ([providerKind, { person }]) =>
      `new ${providerKind}.VipList("${providerKind}-${name}", { members: ${members(`${person}@acme.example`)} }, ${options(`${person}@acme.example`)});`,
  );
  const imports = Object.entries(PROVIDERS).map(
    ([providerKind, { module }]) => `import * as ${providerKind} from "${module}";`,
  );
  return [...imports, ...lists].join("\n");
}

it("applies `ignoreChanges`, `aliases` and `transforms` to list elements by key", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildProgram({ members: (person) => `{ "${person}": "Payroll" }`, options: () => "{}" }),
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  const listDeclaredVips = () =>
    sandbox
      .vips("acme")
      .filter(({ source }) => source !== "auto")
      .map(({ email, comment }) => [email, comment])
      .sort();
  const people = Object.values(PROVIDERS)
    .map(({ person }) => `${person}@acme.example`)
    .sort();
  await project.up();
  expect(listDeclaredVips()).toEqual(people.map((person) => [person, "Payroll"]));

  // The program changes a member and renames the list with an alias. The ignored member stays.
  const formatIgnoreOptions = (person: string, name: string) =>
    `{ ignoreChanges: ['members["${person}"]'], aliases: [{ name: "dynamic-${name}" }, { name: "native-${name}" }] }`;
  await project.write(
    buildProgram({
      name: "committee",
      members: (person) => `{ "${person}": "Changed" }`,
      options: (person) => formatIgnoreOptions(person, "board"),
    }),
  );
  sandbox.clearRequests();
  expect(await project.up()).not.toMatch(/updated|replaced|deleted/);
  expect(sandbox.requests).toEqual([]);

  // The same if the program removes the member: nobody is excluded.
  await project.write(
    buildProgram({ name: "committee", members: () => "{}", options: (person) => formatIgnoreOptions(person, "board") }),
  );
  expect(await project.up()).not.toMatch(/updated|replaced|deleted/);
  expect(listDeclaredVips()).toEqual(people.map((person) => [person, "Payroll"]));
  expect(sandbox.exclusions("acme")).toEqual([]);

  // Pulumi would silently ignore a key that is spelled differently in the state, so it is rejected. A unit test covers
  // the other provider.
  await project.write(
    buildProgram({
      name: "committee",
      members: (person) => `{ "${person}": "Changed" }`,
      options: (person) =>
        formatIgnoreOptions(person.startsWith("diego") ? "Diego.Santos@acme.example" : person, "board"),
    }),
  );
  const { code, output } = await project.run("preview");
  expect(code).not.toBe(0);
  expect(output).toContain(
    'ignoreChanges: members["Diego.Santos@acme.example"] has no effect; write members["diego.santos@acme.example"].',
  );

  // A transform receives each element and can change it.
  await project.write(
    [
      'import * as pulumi from "@pulumi/pulumi";',
      buildProgram({
        name: "committee",
        members: (person) => `{ "${person}": "Payroll" }`,
        options: () => `{ transforms: [({ props, opts }) => {
          const members = Object.fromEntries(Object.keys(props.members).map((email) => [email, props.members[email] + ", by transform"]));
          return { props: { ...props, members }, opts };
        }] }`,
      }),
    ].join("\n"),
  );
  await project.up();
  expect(listDeclaredVips()).toEqual(people.map((person) => [person, "Payroll, by transform"]));
});

/**
 * Returns a program with a resource of each kind from each provider, all with this comment, whose change replaces them.
 */
function buildReplacementProgram(comment: string, options: object): string {
  const buildProviderSource = (providerKind: keyof typeof PROVIDERS): string => {
    const vips = providerKind === "dynamic" ? ["yuki.sato", "lena.hartmann"] : ["diego.santos", "priya.raman"];
    const formatReplaceOptions = (property: string): string =>
      JSON.stringify({ replaceOnChanges: [property], ...options });
    return `
      new ${providerKind}.AllowDenyEntry("${providerKind}", { list: "deny", value: "${providerKind}-evil.example", comment: "${comment}" }, ${formatReplaceOptions("comment")});
      new ${providerKind}.AllowDenyList("${providerKind}", { entries: { "${providerKind}-one.example": "deny: ${comment}", "${providerKind}-two.example": "allow" } }, ${formatReplaceOptions("entries")});
      new ${providerKind}.VipEmployee("${providerKind}", { email: "${vips[0]}@acme.example", comment: "${comment}" }, ${formatReplaceOptions("comment")});
      new ${providerKind}.VipList("${providerKind}", { members: { "${vips[1]}@acme.example": "${comment}" } }, ${formatReplaceOptions("members")});
    `;
  };
  const imports = Object.entries(PROVIDERS).map(
    ([providerKind, { module }]) => `import * as ${providerKind} from "${module}";`,
  );
  return [...imports, buildProviderSource("dynamic"), buildProviderSource("native")].join("\n");
}

it("changes resources in place with `replaceOnChanges` and `--replace`", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildReplacementProgram("first", {}),
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  await project.up();
  const listIds = () =>
    sandbox
      .allowDenyEntries("acme")
      .map(({ id }) => id)
      .sort();
  const listComments = () =>
    [
      ...sandbox.allowDenyEntries("acme").map(({ comment }) => comment),
      ...sandbox
        .vips("acme")
        .filter(({ source }) => source !== "auto")
        .map(({ comment }) => comment),
    ].filter(Boolean);
  const before = listIds();
  for (const [comment, options, args] of [
    ["deleted first", { deleteBeforeReplace: true }, []],
    ["made first", { deleteBeforeReplace: false }, []],
    [
      "by name",
      { deleteBeforeReplace: true },
      ["AllowDenyEntry", "AllowDenyList", "VipEmployee", "VipList"].map((kind) => `--replace=**:${kind}::*`),
    ],
  ] as const) {
    sandbox.clearRequests();
    await project.write(buildReplacementProgram(comment, options));
    expect(await project.up(...args), comment).toMatch(/8 replaced/);
    expect(new Set(listComments()), comment).toEqual(new Set([comment]));
    expect(listComments()).toHaveLength(8);
    expect(listIds()).toEqual(before);
    expect(sandbox.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
    expect(sandbox.exclusions("acme")).toEqual([]);
  }
  expect(await project.up()).toMatch(/unchanged/);
});
