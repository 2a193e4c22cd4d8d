import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { buildUrn, call, type ResourceProperties } from "../../support/provider-call";
import { ProviderProcess } from "../../support/provider-process";
import { RecordingMonitor } from "./monitor";

/*
 * Settings files through the native plugin, read as the engine requests it: in the program's directory, with an engine
 * that records what it receives. test/engine/native-settings.slow.test.ts covers the results of a run.
 */

const TYPE = "email-security:index:TenantSettings";
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const INSTANCE =
  "urn:pulumi:dev::settings::pulumi:providers:email-security::default::0e8ae4ae-1b4d-4b57-8d2c-3c5f3a1c6b6e";

const SETTINGS = `version: 1
include: [baseline.yaml]
ownDomains: [acme.example]
lists:
  entries: { mode: exclusive, protect: [evil.example], maxRemovals: 3 }
  vips: { onDelete: keep }
vips: [{ email: Lena.Hartmann@acme.example, comment: Releases payments }]
allow:
  - { value: partner.example, comment: Contract 2026-114, scope: graymail }
  - { value: fair.example, expires: 2026-05-31 }
remove: { deny: [gone.example] }
`;

let sandbox: Sandbox;
let engine: RecordingMonitor;
let directory: string;
beforeEach(async () => {
  [sandbox, engine] = await Promise.all([startSandbox({ scenario: "acme" }), RecordingMonitor.start()]);
  directory = await mkdtemp(join(tmpdir(), "email-security-"));
  await mkdir(join(directory, "settings"));
  await writeSettings("baseline", "version: 1\ndeny: [{ value: EVIL.example, comment: INC-7 }]\n");
  await writeSettings("acme", SETTINGS);
});
afterEach(async () => {
  await Promise.all([sandbox.close(), engine[Symbol.asyncDispose]()]);
  await rm(directory, { recursive: true });
});

async function writeSettings(name: string, text: string): Promise<void> {
  await writeFile(join(directory, "settings", `${name}.yaml`), text);
}

/** The environment has no key unless one is passed. */
async function startPlugin(environment: Record<string, string> = {}): Promise<ProviderProcess> {
  return await ProviderProcess.start({ directory, environment });
}

async function constructSettings(
  { client }: ProviderProcess,
  inputs: ResourceProperties,
  type = TYPE,
): Promise<InstanceType<typeof provider.ConstructResponse>> {
  const request = new provider.ConstructRequest();
  request.setProject("settings");
  request.setStack("dev");
  request.setDryrun(true);
  request.setMonitorendpoint(engine.address);
  request.setType(type);
  request.setName("acme");
  request.setParent("urn:of:its-parent");
  request.setDependenciesList(["urn:of:another"]);
  request.setInputs(Struct.fromJavaScript(inputs as never));
  return await call((done) => client.construct(request, done));
}

const FILE = { file: "settings/acme.yaml", today: "2026-11-21" };

describe("TenantSettings in the native provider plugin", () => {
  it("registers what the files declare without a service request", async () => {
    await using process = await startPlugin({ EMAIL_SECURITY_BASE_URL: sandbox.url });
    const answer = await constructSettings(process, FILE);
    expect(answer.getUrn()).toBe("urn:of:acme");
    const parent = "urn:of:acme";
    const dependencies = ["urn:of:another"];
    const [component, ...lists] = engine.registrations;
    const none = { provider: "", aliases: [], inputs: {} };
    expect(component).toEqual({
      type: TYPE,
      name: "acme",
      parent: "urn:of:its-parent",
      dependencies,
      ...none,
    });
    const own = { name: "acme", parent, dependencies, provider: INSTANCE };
    expect(lists.sort((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
      {
        ...own,
        type: "email-security:index:AllowDenyList",
        aliases: ["pulumi-nodejs:dynamic/email-security:AllowDenyList"],
        inputs: {
          mode: "exclusive",
          protect: ["evil.example"],
          maxRemovals: 3,
          // Pulumi's options address an element by these keys.
          entries: {
            "evil.example": "deny: INC-7",
            "partner.example (graymail)": "allow: Contract 2026-114",
          },
        },
      },
      {
        ...own,
        type: "email-security:index:VipList",
        aliases: ["pulumi-nodejs:dynamic/email-security:VipList"],
        inputs: {
          onDelete: "keep",
          members: { "lena.hartmann@acme.example": "Releases payments" },
        },
      },
    ]);
    expect(engine.completed).toEqual(["urn:of:acme"]);
    // The engine can't be reached here, so the warnings are printed instead.
    expect(await process.readPrintedLines()).toEqual([
      'settings/acme.yaml:11:18 warning: "gone.example" isn\'t on the deny list of any included file, so there is nothing to remove; delete or correct the line (remove-nothing)',
      "1 has expired and is no longer declared; `email-security plan` shows the removals",
    ]);
    expect(sandbox.requests).toEqual([]);
  });

  it("registers nothing when the files have mistakes", async () => {
    await writeSettings("acme", SETTINGS.replace("fair.example", "fair"));
    await writeSettings("baseline", "version: 1\ndeny: [bad]\n");
    await using process = await startPlugin();
    await expect(constructSettings(process, FILE)).rejects.toThrow(
      [
        "settings/acme.yaml is invalid: it has 2 mistakes. [ERR_SETTINGS_FILE]",
        '  settings/acme.yaml:10:14 error: value "fair" isn\'t a full domain: it has no dot (invalid-value)',
        '  settings/baseline.yaml:2:8 error: value "bad" isn\'t a full domain: it has no dot (invalid-value)',
      ].join("\n"),
    );
    expect(engine.registrations).toEqual([]);
  });

  it("rejects invalid arguments", async () => {
    await using process = await startPlugin();
    await expect(constructSettings(process, { file: UNKNOWN })).rejects.toThrow(
      'TenantSettings "acme": file must be the path of a settings file in plain text, because previews also read the files; it is a value that isn\'t known yet [ERR_INVALID_ARGUMENT]',
    );
    await expect(constructSettings(process, { ...FILE, today: "tomorrow" })).rejects.toThrow('it is "tomorrow"');
    await expect(constructSettings(process, { ...FILE, fil: "x" })).rejects.toThrow('"fil" isn\'t an argument');
    const elsewhere = await mkdtemp(join(tmpdir(), "email-security-"));
    await writeFile(join(elsewhere, "other.yaml"), "version: 1\n");
    await symlink(join(elsewhere, "other.yaml"), join(directory, "settings", "link.yaml"));
    await expect(constructSettings(process, { file: "settings/link.yaml" })).rejects.toThrow(
      "it is a link to a file outside its repository",
    );
    await rm(elsewhere, { recursive: true });
    await expect(constructSettings(process, FILE, "email-security:index:Lists")).rejects.toThrow(
      `The component "email-security:index:Lists" doesn't exist; the only component is ${TYPE}. [ERR_PROTOCOL]`,
    );
    expect(engine.registrations).toEqual([]);
  });

  it("rejects a tenant outside the own domains in the files", async () => {
    await writeSettings("acme", SETTINGS.replace("ownDomains: [acme.example]", "ownDomains: [globex.example]"));
    await using process = await startPlugin({
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    });
    await constructSettings(process, FILE);
    const [, list] = engine.registrations;
    const request = new provider.CreateRequest();
    request.setUrn(buildUrn(list?.type ?? "", "acme"));
    request.setProperties(Struct.fromJavaScript({ entries: { "evil.example": "deny" } }));
    await expect(call((done) => process.client.create(request, done))).rejects.toThrow("[ERR_OTHER_TENANT]");
  });
});
