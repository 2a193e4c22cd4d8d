import { expect } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const ACME_KEY = "sandbox-acme-ci";
export const ENTRY = "evil.example";
export const VIP = "yuki.sato@acme.example";

const PROVIDERS = {
  dynamic: { module: "pulumi-email-security", before: "email-security:index:" },
  native: { module: "pulumi-email-security/native", before: "pulumi-nodejs:dynamic/email-security:" },
} as const;
export type MigratedProviderKind = keyof typeof PROVIDERS;

export const KINDS = ["AllowDenyEntry", "AllowDenyList", "VipEmployee", "VipList"];

interface MigrationProgramOptions {
  /** Default: all kinds. */
  readonly kinds?: readonly string[];
  /** Whether to add aliases that identify the resources with those that the other provider declared before. */
  readonly aliases?: boolean;
  /** The base URL for an explicit Provider of the tenant. */
  readonly provider?: string;
  /** The IDs for the `import` option, by kind. */
  readonly imports?: Readonly<Record<string, string>>;
}

/** Returns a program with a resource of each kind. */
export function buildMigrationProgram(
  providerKind: MigratedProviderKind,
  { kinds = KINDS, aliases = false, provider, imports = {} }: MigrationProgramOptions = {},
): string {
  const { module, before } = PROVIDERS[providerKind];
  const formatOptions = (kind: string): string =>
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
      ([kind, inputs]) =>
        `const its${kind} = new ${kind}("${kind}", ${JSON.stringify(inputs)}, { ...all, ...${formatOptions(kind)} });`,
    );
  // An input that depends on an output must not change in a move either.
  const dependent = `new AllowDenyEntry(
    "AllowDenyDependent",
    { list: "deny", value: "dependent.example", comment: itsAllowDenyEntry.entryId.apply((id) => \`beside \${id}\`) },
    { ...all, ...${formatOptions("AllowDenyEntry")} },
  );`;
  return [
    `import { ${Object.keys(args).join(", ")}, Provider } from "${module}";`,
    instance,
    ...declared,
    ...(aliases || (kinds.length === KINDS.length && Object.keys(imports).length === 0) ? [dependent] : []),
  ].join("\n");
}

export interface MovedStack extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly project: EngineProject;
  /** Returns all requests since the last call. */
  trace(): string[];
  /** Returns the write requests since the last call. */
  writes(): string[];
  /** Returns the tenant's entries, VIPs and exclusions. */
  holds(): unknown;
}

export async function createStack(
  text: (url: string) => string,
  environment: Record<string, string> = {},
): Promise<MovedStack> {
  const sandbox = await startSandbox({ scenario: "empty" });
  const project = await EngineProject.create({
    program: text(sandbox.url),
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: ACME_KEY, ...environment },
  });
  const takeTrace = (): string[] => {
    const lines = sandbox.requests.map(({ method, path }) => `${method} ${path}`);
    sandbox.clearRequests();
    return lines;
  };
  return {
    sandbox,
    project,
    trace: takeTrace,
    writes: () => takeTrace().filter((line) => !line.startsWith("GET ")),
    holds: () => [sandbox.allowDenyEntries("acme"), sandbox.vips("acme"), sandbox.exclusions("acme")],
    async [Symbol.asyncDispose]() {
      await project[Symbol.asyncDispose]();
      await sandbox.close();
    },
  };
}

/**
 * Returns the resource changes that a run printed. Changes of providers are left out, because they don't affect the
 * service.
 */
export function extractChanges(output: string): string[] {
  return output.split("\n").filter((line) => / (AllowDeny|Vip)\w+ (cre|upd|del|repl|imp)\w+ed/.test(line));
}

/** Returns the tenant's entries and VIPs, except automatically detected VIPs. */
export function listDeclarations(sandbox: Sandbox): unknown[] {
  return [...sandbox.allowDenyEntries("acme"), ...sandbox.vips("acme").filter(({ source }) => source !== "auto")];
}

export async function expectManagedBy(providerKind: MigratedProviderKind, { project }: MovedStack): Promise<void> {
  const { resources } = await project.exportState();
  const types = resources.map(({ type }) => type).filter((type) => !type.startsWith("pulumi:providers:"));
  const prefix = providerKind === "dynamic" ? PROVIDERS.native.before : PROVIDERS.dynamic.before;
  expect([...new Set(types)].sort()).toEqual(KINDS.map((kind) => `${prefix}${kind}`));
}
