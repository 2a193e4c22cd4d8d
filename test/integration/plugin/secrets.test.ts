import plugin from "@pulumi/pulumi/proto/provider_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { expect, it } from "vitest";
import { call, convertStruct, InitFailed, type ResourceProperties } from "../../support/provider-call";
import { shareSandboxTenant } from "../../support/sandbox-tenant";

/*
 * Values that Pulumi wraps on their way to a provider: resources, and secrets, which must come back as secrets under
 * the same names.
 */

const tenant = shareSandboxTenant();
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const wrapSecret = (value: unknown) => ({ [SIGNATURE]: "1b47061264138c4ac30d75fd1eb44270", value });
const wrapResource = (id: string) => ({ [SIGNATURE]: "5cf8f73096256a8f31e491e813e4eb8e", urn: "urn:x", id });

it("announces support for secrets in the handshake and in Configure", async () => {
  const { client } = tenant().provider;
  const shake = await call<InstanceType<typeof plugin.ProviderHandshakeResponse>>((done) =>
    client.handshake(new plugin.ProviderHandshakeRequest(), done),
  );
  expect(shake.toObject()).toMatchObject({
    ...{ acceptSecrets: true, acceptResources: true },
    ...{ acceptOutputs: false, supportsAutonamingConfiguration: false },
  });
  const request = new plugin.ConfigureRequest();
  request.setUrn("urn:pulumi:dev::settings::pulumi:providers:email-security::default");
  const configured = await call<InstanceType<typeof plugin.ConfigureResponse>>((done) =>
    client.configure(request, done),
  );
  expect(configured.toObject()).toEqual({
    ...{ acceptsecrets: true, acceptresources: true, acceptoutputs: false },
    ...{ supportspreview: true, supportsAutonamingConfiguration: false },
  });
});

it("keeps a secret argument secret in every operation", async () => {
  const { provider, sandbox } = tenant();
  const entry = provider.getResource("allowDenyEntry");
  const args = { list: "deny", value: "evil.example", comment: wrapSecret("hush") };
  const { inputs } = await entry.check(args);
  expect(inputs).toEqual(args);
  expect((await entry.create(inputs, { preview: true })).properties).toMatchObject(args);
  const { id, properties } = await entry.create(inputs);
  expect(properties).toMatchObject({ ...args, entryType: "domain" });
  expect(sandbox.allowDenyEntries("acme")).toMatchObject([{ comment: "hush" }]);
  expect(await entry.diffDetails(id, properties, inputs)).toBeUndefined();
  const next = { ...args, comment: wrapSecret("hush, hush") };
  const updated = await entry.update(id, properties, next, inputs);
  expect(updated).toMatchObject(next);
  expect(await entry.read(id, updated, next)).toMatchObject({ inputs: next, properties: next });
  await entry.delete(id, updated, next);
});

it("keeps a secret list entry secret", async () => {
  const { provider } = tenant();
  const list = provider.getResource("allowDenyList");
  const checkEntries = async (entries: unknown) => (await list.check({ entries })).inputs["entries"];
  expect(await checkEntries({ "evil.example": wrapSecret("deny: hush"), "a.example": "deny" })).toEqual({
    "evil.example": wrapSecret("deny: hush"),
    "a.example": "deny",
  });
  // Check canonicalizes the name, so the key is different by then.
  expect(await checkEntries({ "Evil.Example": wrapSecret("deny: hush") })).toEqual(
    wrapSecret({ "evil.example": "deny: hush" }),
  );
  expect(await checkEntries(wrapSecret({ "evil.example": "deny" }))).toEqual(wrapSecret({ "evil.example": "deny" }));

  // The organization has no member with that name.
  const members = { "yuki.sato@acme.example": wrapSecret("hush"), "nobody@elsewhere.example": "" };
  const failure = await provider
    .getResource("vipList")
    .create({ members })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(InitFailed);
  expect((failure as InitFailed).properties["members"]).toEqual({ "yuki.sato@acme.example": wrapSecret("hush") });
});

it("replaces a resource reference with its id", async () => {
  const { provider } = tenant();
  const { inputs, failures } = await provider
    .getResource("allowDenyEntry")
    .check({ list: "deny", value: "worse.example", comment: wrapResource("see-7") });
  expect({ inputs, failures }).toEqual({
    inputs: { list: "deny", value: "worse.example", comment: "see-7" },
    failures: {},
  });
  const request = new plugin.InvokeRequest();
  request.setTok("email-security:index:getAllowDenyEntries");
  const readFunction = async (args: ResourceProperties) => {
    request.setArgs(Struct.fromJavaScript(args as never));
    const answer = await call<InstanceType<typeof plugin.InvokeResponse>>((done) =>
      provider.client.invoke(request, done),
    );
    return convertStruct(answer.getReturn());
  };
  expect(await readFunction({ list: "allow" })).toEqual({ entries: [] });
  expect(await readFunction({ list: wrapSecret("allow") })).toEqual({ entries: wrapSecret([]) });
});
