import { readFileSync } from "node:fs";
import { join } from "node:path";
import type plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import { Empty } from "google-protobuf/google/protobuf/empty_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { buildUrn, call, type InitFailed } from "../../support/provider-call";
import { ProviderInstance } from "../../support/provider-instance";
import { PLUGIN, ProviderProcess } from "../../support/provider-process";
import { startSandboxTenant } from "../../support/sandbox-tenant";

/* Pulumi's provider protocol as the plugin implements it: the calls about the provider rather than about a resource. */

const wrapSecret = (value: unknown) => ({
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  value,
});
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const HOST = "https://api.example";

/** No service is called here. */
let bare: ProviderProcess;
beforeAll(async () => {
  bare = await ProviderProcess.start({ isConfigured: false });
});
afterAll(async () => {
  await bare[Symbol.asyncDispose]();
});

const createExplicitInstance = (): ProviderInstance => new ProviderInstance(bare.client, "mine");
const createDefaultInstance = (version = ""): ProviderInstance =>
  new ProviderInstance(bare.client, `default${version}`);

describe("plugin metadata", () => {
  it("includes the version of the package", async () => {
    const info = await call<InstanceType<typeof plugin.PluginInfo>>((done) =>
      bare.client.getPluginInfo(new Empty(), done),
    );
    const { version } = JSON.parse(readFileSync("provider/package.json", "utf8")) as { version: string };
    expect(info.getVersion()).toBe(version);
  });

  it("includes the schema for version 0 only", async () => {
    const getSchema = async (version: number): Promise<unknown> => {
      const request = new provider.GetSchemaRequest();
      request.setVersion(version);
      const answer = await call<InstanceType<typeof provider.GetSchemaResponse>>((done) =>
        bare.client.getSchema(request, done),
      );
      return JSON.parse(answer.getSchema());
    };
    const built: unknown = JSON.parse(readFileSync(join(PLUGIN, "../schema.json"), "utf8"));
    expect(await getSchema(0)).toEqual(built);
    await expect(getSchema(1)).rejects.toThrow(/Schema version 1 doesn't exist.*\[ERR_PROTOCOL\]/);
  });

  it("names the required CLI version to a Pulumi that is too old", async () => {
    const request = new provider.ConfigureRequest();
    await expect(call((done) => bare.client.configure(request, done))).rejects.toThrow(
      /This version of Pulumi is too old for the plugin, which needs 3\.200\.0 or later\. .*\[ERR_CONFIGURATION\]/,
    );
  });

  it("contains no mapping", async () => {
    const response = await call<InstanceType<typeof provider.GetMappingResponse>>((done) =>
      bare.client.getMapping(new provider.GetMappingRequest(), done),
    );
    expect(response.toObject()).toEqual({ provider: "", data: "" });
    const all = await call<InstanceType<typeof provider.GetMappingsResponse>>((done) =>
      bare.client.getMappings(new provider.GetMappingsRequest(), done),
    );
    expect(all.getProvidersList()).toEqual([]);
  });

  it("lists the resource types when asked for an unknown one", async () => {
    const request = new provider.CheckRequest();
    request.setUrn(buildUrn("email-security:index:Allowlist", "typo"));
    await expect(call((done) => bare.client.check(request, done))).rejects.toThrow(
      'The resource type "email-security:index:Allowlist" doesn\'t exist; the types are email-security:index:AllowDenyEntry, email-security:index:AllowDenyList, email-security:index:VipEmployee, email-security:index:VipList. [ERR_PROTOCOL]',
    );
  });
});

describe("check of a provider instance", () => {
  it("turns a plain key into a secret", async () => {
    const args = { baseUrl: HOST, apiKey: "key" };
    const checked = { inputs: { baseUrl: HOST, apiKey: wrapSecret("key") }, failures: [] };
    expect(await createExplicitInstance().check(args)).toEqual(checked);
    expect(await createDefaultInstance().check(args)).toEqual(checked);
    expect(await createExplicitInstance().check({ ...args, apiKey: wrapSecret("key") })).toEqual(checked);
  });

  it.each([
    ["an invalid address", { baseUrl: "api.example" }, /isn't a valid URL/],
    ["plain http to another host", { baseUrl: "http://api.example" }, /plain http/],
    ["no address", { baseUrl: null }, /Set baseUrl on the Provider "mine"/],
    ["no key", { apiKey: null }, /Set apiKey on the Provider "mine"/],
    ["invalid own domains", { ownDomains: "acme" }, /"acme" isn't a full domain/],
  ])("rejects %s for an explicit instance only", async (_name, wrong, reason) => {
    const settings = Object.entries({ baseUrl: HOST, apiKey: "key", ...wrong });
    const args = Object.fromEntries(settings.filter(([, value]) => value !== null));
    const { failures } = await createExplicitInstance().check(args);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(reason);
    // The environment may provide valid settings, or no resource may need them.
    expect((await createDefaultInstance().check(args)).failures).toEqual([]);
    expect((await createDefaultInstance("_1_2_3").check(args)).failures).toEqual([]);
  });

  it("accepts values unknown in a preview", async () => {
    const args = { baseUrl: UNKNOWN, apiKey: UNKNOWN };
    expect(await createExplicitInstance().check(args)).toEqual({ inputs: args, failures: [] });
  });
});

describe("diff of a provider instance", () => {
  const args = { baseUrl: HOST, apiKey: "key" };

  it.each([
    ["nothing", args, args, [], []],
    ["another key", args, { ...args, apiKey: "next" }, ["apiKey"], []],
    ["a key that the old one had not", { baseUrl: HOST }, args, ["apiKey"], []],
    ["a key that is not known yet", { baseUrl: HOST }, { ...args, apiKey: UNKNOWN }, ["apiKey"], []],
    ["a key that the new one has not", args, { baseUrl: HOST }, ["apiKey"], []],
    ["an address that the old one had not", {}, args, ["apiKey", "baseUrl"], []],
    ["an address that is not known yet", args, { ...args, baseUrl: UNKNOWN }, ["baseUrl"], []],
    ["another path of the address", args, { ...args, baseUrl: `${HOST}/v1` }, ["baseUrl"], []],
    ["another host", args, { ...args, baseUrl: "https://eu.example" }, ["baseUrl"], ["baseUrl"]],
  ])("reports whether a change of %s updates or replaces", async (_name, olds, news, diffs, replaces) => {
    expect(await createExplicitInstance().diff(olds, news)).toEqual({ changes: diffs.length > 0, diffs, replaces });
  });

  it("rejects an explicit instance with the name of the default one", async () => {
    const stack = { baseUrl: HOST, apiKey: "of the stack" };
    await using plugin = await ProviderProcess.start({
      environment: { PULUMI_CONFIG: JSON.stringify(stack), EMAIL_SECURITY_API_KEY: "of the environment" },
      isConfigured: false,
    });
    const checkConfiguration = async (name: string, input: object) =>
      (await new ProviderInstance(plugin.client, name).check({ ...input })).failures;
    expect(await checkConfiguration("default", stack)).toEqual([]);
    expect(await checkConfiguration("default_0_1_0", stack)).toEqual([]);
    const refusal = /^a Provider can't have the name "default(_0_1_0)?", .*; use another name$/;
    expect(await checkConfiguration("default", { ...stack, apiKey: "mine" })).toEqual([expect.stringMatching(refusal)]);
    expect(await checkConfiguration("default_0_1_0", { ...stack, ownDomains: ["a.example"] })).toEqual([
      expect.stringMatching(refusal),
    ]);
    // A different name with the same prefix belongs to one of the program's own instances.
    expect(await checkConfiguration("default_eu", { ...stack, apiKey: "mine" })).toEqual([]);
  });

  it("replaces no default instance when the environment sets the host", async () => {
    const other = { ...args, baseUrl: "https://eu.example" };
    expect(await createDefaultInstance().diff(args, other)).toMatchObject({ changes: true, replaces: ["baseUrl"] });
    await using decided = await ProviderProcess.start({
      environment: { EMAIL_SECURITY_BASE_URL: HOST },
      isConfigured: false,
    });
    expect(await new ProviderInstance(decided.client).diff(args, other)).toMatchObject({
      changes: true,
      replaces: [],
    });
  });
});

describe("provider configuration", () => {
  const evil = { list: "deny", value: "evil.example" };
  const buildStackConfig = (url: string, tenant: string) => ({
    "email-security:baseUrl": url,
    "email-security:apiKey": `sandbox-${tenant}-ci`,
  });

  it("is overridden by the environment for the default instance only", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const environment = {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    };
    const countEntries = () => ["acme", "globex"].map((name) => sandbox.allowDenyEntries(name).length);
    await using usual = await ProviderProcess.start({ config: buildStackConfig(sandbox.url, "globex"), environment });
    await usual.getResource("allowDenyEntry").declare(evil);
    expect(countEntries()).toEqual([1, 0]);
    await using own = await ProviderProcess.start({
      instance: "mine",
      config: buildStackConfig(sandbox.url, "globex"),
      environment,
    });
    const { properties } = await own.getResource("allowDenyEntry").declare(evil);
    expect(countEntries()).toEqual([1, 1]);
    expect(properties["tenant"]).toBe(`mine at ${new URL(sandbox.url).host}`);
  });

  it("sends no request without a key", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    await using usual = await ProviderProcess.start({ config: { "email-security:baseUrl": sandbox.url } });
    const entry = usual.getResource("allowDenyEntry");
    const calls = [entry.declare(evil), entry.read("deny:evil.example"), entry.delete("ade_1", evil)];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringMatching(/EMAIL_SECURITY_API_KEY.*\[ERR_CONFIGURATION\]/) },
      });
    }
    expect(sandbox.requests).toEqual([]);
  });

  it("rejects unknown arguments of an explicit instance", async () => {
    await using usual = await ProviderProcess.start({ isConfigured: false });
    const input = { baseUrl: "https://service.example", apiKey: "k", version: "1.0.0", __internal: {} };
    const instance = new ProviderInstance(usual.client, "acme");
    expect(await instance.check(input)).toMatchObject({ failures: [] });
    const { failures } = await instance.check({ ...input, ownDomain: '["acme.example"]', tags: "x" });
    expect(failures).toEqual([
      '"ownDomain" isn\'t an argument of a Provider; did you mean ownDomains?',
      '"tags" isn\'t an argument of a Provider; the known names are baseUrl, apiKey, allowInsecureHttp, timeoutMs, ownDomains',
    ]);
  });

  it("comes from the environment for `pulumi do` without arguments", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
    await using usual = await ProviderProcess.start({ environment, isConfigured: false });
    const instance = new ProviderInstance(usual.client, "");
    const entry = usual.getResource("allowDenyEntry");
    await instance.configure({ timeoutMs: "5000" });
    const { host } = new URL(sandbox.url);
    expect((await entry.create(evil)).properties).toMatchObject({ tenant: host });
    expect(sandbox.allowDenyEntries("acme")).toHaveLength(1);
    // The environment's key is sent to no other address, and no other key is sent to the environment's address.
    await instance.configure({ baseUrl: "https://other.example" });
    await expect(entry.read("deny:evil.example")).rejects.toThrow(
      /The API key .* is not configured. Set apiKey on the Provider of `pulumi do`; the environment/,
    );
    await instance.configure({ apiKey: "sandbox-globex-ci" });
    await expect(entry.read("deny:evil.example")).rejects.toThrow(/Set baseUrl on the Provider of/);
    await instance.configure({ baseUrl: sandbox.url, apiKey: "sandbox-globex-ci" });
    expect((await entry.create(evil)).properties).toMatchObject({ tenant: host });
    expect(sandbox.allowDenyEntries("globex")).toHaveLength(1);
  });

  it("accepts JSON-encoded flags and numbers from the SDKs", async () => {
    await using usual = await ProviderProcess.start({ isConfigured: false });
    const instance = new ProviderInstance(usual.client, "acme");
    const input = { baseUrl: "http://service.example", apiKey: "k" };
    // Flags and numbers may come as strings that contain JSON.
    expect((await instance.check({ ...input, allowInsecureHttp: '"true"' })).failures).toEqual([]);
    const { failures } = await instance.check({ ...input, timeoutMs: '"abc"', allowInsecureHttp: "true" });
    expect(failures).toEqual([expect.stringContaining('timeoutMs of the Provider "acme" is "abc"; write')]);
  });

  it("is replaced by a later one", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    await using usual = await ProviderProcess.start({ config: buildStackConfig(sandbox.url, "acme") });
    const { inputs } = await new ProviderInstance(usual.client).check({
      baseUrl: sandbox.url,
      apiKey: "sandbox-globex-ci",
    });
    await new ProviderInstance(usual.client).configure(inputs);
    await usual.getResource("allowDenyEntry").declare(evil);
    expect(sandbox.allowDenyEntries("globex")).toHaveLength(1);
  });
});

describe("secret arguments of a resource", () => {
  it("stay secret in every output", async () => {
    await using tenant = await startSandboxTenant({
      intercept: ({ body }) =>
        (body as { value?: string } | undefined)?.value === "refused.example"
          ? { status: 400, body: { error: "no" } }
          : undefined,
    });
    const declared = { list: "deny", value: "evil.example", comment: wrapSecret("INC-7") };
    const entry = tenant.provider.getResource("allowDenyEntry");
    const { inputs, failures } = await entry.check(declared);
    expect(failures).toEqual({});
    expect(inputs).toMatchObject(declared);
    const { id, properties } = await entry.create(inputs);
    expect(properties).toMatchObject(declared);
    expect((await entry.diff(id, properties, inputs)).changes).toBe(false);
    expect((await entry.read(id, properties, inputs))?.properties).toMatchObject(declared);
    const changed = { ...declared, comment: wrapSecret("INC-8") };
    expect(await entry.update(id, properties, changed)).toMatchObject(changed);
    expect(tenant.sandbox.allowDenyEntries("acme").map(({ comment }) => comment)).toEqual(["INC-8"]);

    const args = new provider.InvokeRequest();
    args.setTok("email-security:index:getAllowDenyEntries");
    args.setArgs(Struct.fromJavaScript({ list: wrapSecret("deny") } as never));
    const read = await call<InstanceType<typeof provider.InvokeResponse>>((done) =>
      tenant.provider.client.invoke(args, done),
    );
    expect(read.getReturn()?.toJavaScript()).toEqual({ entries: wrapSecret(expect.any(Array)) });

    const list = tenant.provider.getResource("allowDenyList");
    const kept = { "one.example": wrapSecret("deny: INC-7"), "other.example": "deny" };
    expect((await list.check({ entries: kept })).inputs).toEqual({ entries: kept });
    const half = { entries: { ...kept, "refused.example": wrapSecret("deny") } };
    const failed = (await list.create(half).catch((error: unknown) => error)) as InitFailed;
    expect(failed.properties["entries"]).toEqual(kept);
    // A value that was secret as a whole, or inside an array, is returned as one secret.
    const array = [{ list: "deny", value: "one.example", comment: wrapSecret("x") }];
    for (const entries of [array, wrapSecret([{ ...array[0], comment: "x" }])]) {
      expect((await list.check({ entries })).inputs).toEqual({
        entries: wrapSecret({ "one.example": "deny: x" }),
      });
    }
  });
});
