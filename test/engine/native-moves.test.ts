import { delimiter, resolve } from "node:path";
import { expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const ACME_KEY = "sandbox-acme-ci";
const ENTRY = "evil.example";
const VIP = "yuki.sato@acme.example";

const FRONTS = {
  dynamic: { module: "pulumi-email-security", before: "email-security:index:" },
  native: { module: "pulumi-email-security/native", before: "pulumi-nodejs:dynamic/email-security:" },
} as const;
type Front = keyof typeof FRONTS;

const KINDS = ["AllowDenyEntry", "AllowDenyList", "VipEmployee", "VipList"];

interface Declaring {
  /** Default: all. */
  readonly kinds?: readonly string[];
  /** By aliases, resources are the ones that the other front declared before. */
  readonly aliases?: boolean;
  /** With an explicit Provider of the tenant. */
  readonly provider?: string;
  /** With the `import` option, by these ids. */
  readonly imports?: Readonly<Record<string, string>>;
}

/** A program with a resource of each kind. */
function program(
  front: Front,
  { kinds = KINDS, aliases = false, provider, imports = {} }: Declaring = {},
): string {
  const { module, before } = FRONTS[front];
  const options = (kind: string): string =>
    JSON.stringify({
      ...(aliases ? { aliases: [{ type: `${before}${kind}` }] } : {}),
      ...(kind in imports ? { import: imports[kind] } : {}),
    });
  const instance =
    provider === undefined
      ? "const all = {};"
      : `const all = { provider: new Provider("acme", { baseUrl: "${provider}", apiKey: "${ACME_KEY}" }) };`;
  const args = {
    AllowDenyEntry: { list: "deny", value: ENTRY, comment: "INC-7" },
    VipEmployee: { email: VIP, comment: "Payroll" },
    AllowDenyList: { entries: { "one.example": "deny: a", "two.example": "allow: b" } },
    VipList: { members: { "diego.santos@acme.example": "AP" } },
  };
  const declared = Object.entries(args)
    .filter(([kind]) => kinds.includes(kind))
    .map(
      ([kind, given]) =>
        `const its${kind} = new ${kind}("${kind}", ${JSON.stringify(given)}, { ...all, ...${options(kind)} });`,
    );
  // What rests on an output must not change by a move either.
  const dependent = `new AllowDenyEntry(
    "AllowDenyDependent",
    { list: "deny", value: "dependent.example", comment: itsAllowDenyEntry.entryId.apply((id) => \`beside \${id}\`) },
    { ...all, ...${options("AllowDenyEntry")} },
  );`;
  return [
    `import { ${Object.keys(args).join(", ")}, Provider } from "${module}";`,
    instance,
    ...declared,
    ...(aliases || (kinds.length === KINDS.length && Object.keys(imports).length === 0) ? [dependent] : []),
  ].join("\n");
}

interface Stack extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly project: EngineProject;
  /** All that was asked of the service since the last call. */
  trace(): string[];
  /** The same without reads. */
  writes(): string[];
  /** What the tenant holds. */
  holds(): unknown;
}

async function stackOf(
  text: (url: string) => string,
  environment: Record<string, string> = {},
): Promise<Stack> {
  const sandbox = await startSandbox({ scenario: "empty" });
  const project = await EngineProject.create({
    program: text(sandbox.url),
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: ACME_KEY, ...environment },
  });
  const trace = (): string[] => {
    const lines = sandbox.requests.map(({ method, path }) => `${method} ${path}`);
    sandbox.clearRequests();
    return lines;
  };
  return {
    sandbox,
    project,
    trace,
    writes: () => trace().filter((line) => !line.startsWith("GET ")),
    holds: () => [sandbox.allowDenyEntries("acme"), sandbox.vips("acme"), sandbox.exclusions("acme")],
    async [Symbol.asyncDispose]() {
      await project[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

/** The changes of resources that a run printed; those of providers are none at the service. */
function changesIn(output: string): string[] {
  return output.split("\n").filter((line) => / (AllowDeny|Vip)\w+ (cre|upd|del|repl|imp)\w+ed/.test(line));
}

/** What the tenant holds and automatic detection has not put there. */
function declaredIn(sandbox: Sandbox): unknown[] {
  return [
    ...sandbox.allowDenyEntries("acme"),
    ...sandbox.vips("acme").filter(({ source }) => source !== "auto"),
  ];
}

async function expectManagedBy(front: Front, { project }: Stack): Promise<void> {
  const { resources } = await project.state();
  const types = resources.map(({ type }) => type).filter((type) => !type.startsWith("pulumi:providers:"));
  const prefix = front === "dynamic" ? FRONTS.native.before : FRONTS.dynamic.before;
  expect([...new Set(types)].sort()).toEqual(KINDS.map((kind) => `${prefix}${kind}`));
}

it("moves a stack from dynamic to native and back by aliases, without a request", async () => {
  await using stack = await stackOf(() => program("dynamic"));
  const { project } = stack;
  await project.up();
  expect(stack.writes()).toHaveLength(6);
  const before = stack.holds();

  for (const front of ["native", "dynamic"] as const) {
    await project.write(program(front, { aliases: true }));
    const moved = changesIn(await project.up());
    // The state of a dynamic resource holds its provider, and that of a native one does not.
    expect(moved).toHaveLength(KINDS.length + 1);
    expect(moved.filter((line) => !/ updated \(/.test(line))).toEqual([]);
    await expectManagedBy(front, stack);
    // The aliases have done what they are for.
    await project.write(program(front));
    await project.up("--expect-no-changes");
    expect(stack.trace()).toEqual([]);
    await project.succeed("refresh", "--yes", "--skip-preview", "--expect-no-changes");
    expect(stack.writes()).toEqual([]);
    expect(stack.holds()).toEqual(before);
  }

  await project.destroy();
  expect(declaredIn(stack.sandbox)).toEqual([]);
});

it("moves a stack from native to dynamic and back by aliases, with explicit Providers, without a request", async () => {
  await using stack = await stackOf((url) => program("native", { provider: url }));
  const { project, sandbox } = stack;
  await project.up();
  expect(stack.writes()).toHaveLength(6);
  for (const front of ["dynamic", "native"] as const) {
    await project.write(program(front, { provider: sandbox.url, aliases: true }));
    expect(changesIn(await project.up()).join("\n")).not.toMatch(/created|deleted|replaced/);
    await expectManagedBy(front, stack);
    await project.up("--expect-no-changes");
    expect(stack.trace()).toEqual([]);
  }
  await project.destroy();
  expect(declaredIn(sandbox)).toEqual([]);
});

it("deletes nothing when one front's resources are dropped in the run that declares the other's, and says so", async () => {
  // With a launcher of Pulumi's own, which stays between the engine and the process of dynamic providers.
  const launchers = resolve("node_modules/@pulumi/pulumi");
  await using stack = await stackOf(() => program("dynamic"));
  const { project } = stack;
  await project.up();
  stack.trace();
  const before = stack.holds();
  const environment = { PATH: `${launchers}${delimiter}${project.environment["PATH"]}` };
  for (const front of ["native", "dynamic"] as const) {
    await project.write(program(front));
    const { code, output } = await project.runWith(environment, "up", "--yes", "--skip-preview");
    expect(code, output).toBe(0);
    expect(output).toContain(`using pulumi-resource-pulumi-nodejs from $PATH at ${launchers}`);
    for (const sentence of [
      `${ENTRY} on the deny list stays: the program declares it.`,
      `${VIP} stays a VIP: the program declares it.`,
      "2 entries stay: the program declares them (deny one.example, allow two.example).",
      "1 VIP stays: the program declares it (diego.santos@acme.example).",
      `Took over ${ENTRY} on the deny list`,
    ]) {
      expect(output).toContain(sentence);
    }
    expect(stack.writes()).toEqual([]);
    expect(stack.holds()).toEqual(before);
    await expectManagedBy(front, stack);
    await project.up("--expect-no-changes");
  }
});

it("deletes nothing when the native resources are imported in the run that drops the dynamic ones", async () => {
  const singles = ["AllowDenyEntry", "VipEmployee"];
  const lists = ["AllowDenyList", "VipList"];
  await using stack = await stackOf(() => program("dynamic", { kinds: singles }));
  const { project } = stack;
  for (const [kinds, imports] of [
    [singles, { AllowDenyEntry: `deny:${ENTRY}`, VipEmployee: VIP }],
    [lists, { AllowDenyList: "allow-deny-list", VipList: "vip-list" }],
  ] as const) {
    await project.write(program("dynamic", { kinds }));
    await project.up();
    stack.trace();
    const before = stack.holds();
    await project.write(program("native", { kinds, imports }));
    const output = await project.up();
    expect(output).toMatch(/imported[\s\S]*stays/);
    expect(stack.writes()).toEqual([]);
    expect(stack.holds()).toEqual(before);
    await project.write(program("native", { kinds }));
    await project.up("--expect-no-changes");
    await project.destroy();
    expect(declaredIn(stack.sandbox)).toEqual([]);
  }
});
