import { afterAll, beforeAll, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { InitFailed } from "../../support/provider-call";
import { type ManagedSandboxTenant, startSandboxTenant } from "../../support/sandbox-tenant";

/*
 * An import as the engine asks the plugin for it: a Read without properties. The answer must declare the resource as it
 * is, so that check accepts it and the diff is empty.
 */

let tenant: ManagedSandboxTenant;
const ids = new Map<string, string>();

beforeAll(async () => {
  tenant = await startSandboxTenant({ scenario: "acme" });
  for (const [value, comment] of [
    ["evil.example", "INC-7"],
    ["Bücher.example", ""],
    ["192.0.2.7", "a scanner"],
  ] as const) {
    const entry_type = value.startsWith("1") ? "ip" : "domain";
    const entry = { list: "deny", entry_type, value, comment };
    const { results } = await tenant.console("POST", "/allow_deny_entries", entry);
    ids.set(value, results["id"] as string);
  }
  const graymail = { list: "allow", entry_type: "domain", value: "mail.example", verdict_scope: "graymail" };
  await tenant.console("POST", "/allow_deny_entries", graymail);
  const risky = { list: "allow", entry_type: "domain", value: "gmail.com", comment: "Applicants" };
  await tenant.console("POST", "/allow_deny_entries", risky);
  tenant.trace();
});

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

const RISK = "It existed at the service before the import, and has to be reviewed.";

/** Import ids, and the arguments that declare the imported resource. */
const IMPORTS: Readonly<Record<HandlerName, Readonly<Record<string, object>>>> = {
  allowDenyEntry: {
    "the id of evil.example": { list: "deny", value: "evil.example", comment: "INC-7" },
    "deny:EVIL.example": { list: "deny", value: "evil.example", comment: "INC-7" },
    "bücher.example": { list: "deny", value: "xn--bcher-kva.example" },
    "192.0.2.7": { list: "deny", value: "192.0.2.7", comment: "a scanner" },
    "allow:mail.example (graymail)": { list: "allow", value: "mail.example", verdictScope: "graymail" },
    "allow:gmail.com": { list: "allow", value: "gmail.com", comment: "Applicants", acceptRisk: RISK },
  },
  allowDenyList: {
    "allow-deny-list": { entries: expect.objectContaining({ "evil.example": "deny: INC-7" }) },
    deny: { entries: expect.not.objectContaining({ "gmail.com": expect.anything() }) },
  },
  vipEmployee: {
    "Oskar.Kowalski@acme.example": { email: "oskar.kowalski@acme.example", comment: "Domain administrator" },
    "ruth.castellan@acme.example": { email: "ruth.castellan@acme.example" },
  },
  vipList: {
    "vip-list": {
      members: expect.objectContaining({ "oskar.kowalski@acme.example": "Domain administrator" }),
    },
  },
};

it.each(Object.entries(IMPORTS))("imports %s by each of its names", async (handler, imports) => {
  // Each kind gets its own run: in one program they would collide.
  await tenant.provider.startNextRun();
  const resource = tenant.provider.getResource(handler as HandlerName);
  const known = [];
  for (const [name, declares] of Object.entries(imports)) {
    const id = name.replace(/^the id of (.*)$/, (_all, value: string) => ids.get(value) ?? "");
    const readResult = (await resource.read(id)) ?? expect.fail(`${name} is not there`);
    expect(readResult.inputs).toEqual(declares);
    const checked = await resource.check(readResult.inputs, readResult.inputs);
    expect(checked).toEqual({ inputs: readResult.inputs, failures: {} });
    const diff = await resource.diff(readResult.id, readResult.properties, checked.inputs, readResult.inputs);
    expect(diff).toEqual({ changes: false, replaces: [] });
    // A program's `get` sends an empty state, which counts as no state.
    expect(await resource.read(id, {}, {})).toEqual(readResult);
    known.push(readResult);
  }
  await tenant.provider.startNextRun();
  for (const readResult of known) {
    const read = await resource.read(readResult.id, readResult.properties, readResult.inputs);
    // The people who identify the tenant are recorded once there is a state.
    expect(read).toEqual({ ...readResult, properties: { ...readResult.properties, people: expect.any(String) } });
  }
  expect(tenant.writes()).toEqual([]);
});

it("rejects an import id that can't name a resource", async () => {
  const entry = tenant.provider.getResource("allowDenyEntry");
  expect(await entry.read("deny:nowhere.example")).toBeUndefined();
  expect(await tenant.provider.getResource("vipEmployee").read("nobody@acme.example")).toBeUndefined();
  await expect(entry.read("https://evil.example/")).rejects.toThrow(/doesn't identify an entry.*\[ERR_IMPORT\]/);
  await expect(tenant.provider.getResource("allowDenyList").read("blocklist")).rejects.toThrow(/\[ERR_IMPORT\]/);
});

/** The resource read by an id, and the different arguments that the program declares. */
const MISMATCHES: [HandlerName, string, object, string][] = [
  [
    "allowDenyEntry",
    "allow:gmail.com",
    { list: "deny", value: "evil.example" },
    'The import is for allow gmail.com, but the program declares deny evil.example. Nothing was imported. Import it by an id that matches the declaration such as "deny:evil.example",',
  ],
  [
    "vipEmployee",
    "oskar.kowalski@acme.example",
    { email: "ruth.castellan@acme.example" },
    "The import is for oskar.kowalski@acme.example, but the program declares ruth.castellan@acme.example. Nothing was imported.",
  ],
];

it.each(MISMATCHES)(
  "rejects the import of %s by the id of another resource",
  async (handler, id, declared, message) => {
    await tenant.provider.startNextRun();
    const resource = tenant.provider.getResource(handler);
    const readResult = (await resource.read(id)) ?? expect.fail(`${id} is not there`);
    const { inputs } = await resource.check({ ...declared }, readResult.inputs);
    // No replacement: the engine would end the run with the imported properties in state.
    expect(await resource.diff(readResult.id, readResult.properties, inputs, readResult.inputs)).toEqual({
      changes: true,
      replaces: [],
    });
    const updateImported = (preview: boolean) =>
      resource
        .update(readResult.id, readResult.properties, inputs, readResult.inputs, { preview })
        .catch((error: unknown) => error);
    const previewed = await updateImported(true);
    expect(previewed).not.toBeInstanceOf(InitFailed);
    expect(String(previewed)).toContain(message);
    const failed = await updateImported(false);
    if (!(failed instanceof InitFailed)) expect.fail(String(failed));
    expect(failed.properties).toEqual({ failedImport: expect.stringContaining(message) });

    await tenant.provider.startNextRun();
    const later = tenant.provider.getResource(handler);
    tenant.trace();
    expect(await later.read(failed.id, failed.properties, readResult.inputs)).toBeUndefined();
    await later.delete(failed.id, failed.properties, readResult.inputs);
    expect(tenant.trace()).toEqual([]);
    // Once the program no longer imports, the declared resource replaces the imported one.
    const diff = await later.diff(failed.id, failed.properties, inputs, readResult.inputs);
    expect(diff).toEqual({ changes: true, replaces: ["failedImport"] });
  },
);
