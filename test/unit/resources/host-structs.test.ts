import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { Message } from "google-protobuf";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { enableLazyStructs } from "../../../provider/resources/host-structs";
import { buildSerializedProvider } from "../../../provider/resources/serialized-provider";

const { CheckRequest, CheckResponse, ErrorResourceInitFailed } = messages;
const STATICS = ["deserializeBinaryFromReader", "fromJavaScript", "serializeBinaryToWriter"] as const;
const METHODS = ["getFieldsMap", "toJavaScript"] as const;
const ENTRIES = { "b.example": "deny: é", "a.example": "allow" };
const OURS = { __provider: buildSerializedProvider("allowDenyList") };
const NEWS = {
  entries: ENTRIES,
  limit: 0.5,
  ignore: ["*.example", null, true],
  __provider: buildSerializedProvider("allowDenyList"),
};

/** Serialized by google-protobuf before anything is patched. */
const written = new CheckRequest()
  .setUrn("urn")
  .setOlds(Struct.fromJavaScript(OURS))
  .setNews(Struct.fromJavaScript(NEWS))
  .serializeBinary();

const foreign = Struct.fromJavaScript({ __provider: "exports.handler = …", a: 1 }).serializeBinary();

let putBack: () => void;
beforeEach(() => {
  const statics = STATICS.map((name) => [name, Struct[name]] as const);
  const methods = METHODS.map((name) => [name, Struct.prototype[name]] as const);
  putBack = () => {
    Object.assign(Struct, Object.fromEntries(statics));
    Object.assign(Struct.prototype, Object.fromEntries(methods));
  };
});
afterEach(() => putBack());

/** Reloads the module, because it prepares each class only once. */
async function prepareClasses(hostMessages: unknown = messages): Promise<void> {
  vi.resetModules();
  (await import("../../../provider/resources/host-structs.ts")).enableLazyStructs(hostMessages);
}

describe("known host", () => {
  it("reads a request without creating a message for each value", async () => {
    const fieldsMapSpy = vi.spyOn(Struct.prototype, "getFieldsMap");
    await prepareClasses();
    fieldsMapSpy.mockClear();
    const request = CheckRequest.deserializeBinary(written);
    expect([request.getUrn(), request.getOlds()?.toJavaScript()]).toEqual(["urn", OURS]);
    expect(JSON.stringify(request.getNews()?.toJavaScript())).toBe(
      '{"__provider":"exports.handler = () => require(\\"pulumi-email-security/runtime\\").allowDenyList","entries":{"a.example":"allow","b.example":"deny: é"},"ignore":["*.example",null,true],"limit":0.5}',
    );
    expect(request.getNews()?.toJavaScript()).not.toBe(request.getNews()?.toJavaScript());
    expect(fieldsMapSpy).not.toHaveBeenCalled();
    fieldsMapSpy.mockRestore();
  });

  it("writes responses byte for byte as before", async () => {
    const before = new CheckResponse().setInputs(Struct.fromJavaScript(NEWS)).serializeBinary();
    const failed = new ErrorResourceInitFailed().setId("id").setProperties(Struct.fromJavaScript(NEWS));
    failed.setReasonsList(["it"]);
    const failure = failed.serializeBinary();
    await prepareClasses();
    const answer = new CheckResponse().setInputs(Struct.fromJavaScript(NEWS));
    expect(Buffer.compare(answer.serializeBinary(), before)).toBe(0);
    const passedOn = new CheckResponse().setInputs(CheckRequest.deserializeBinary(written).getNews());
    expect(Buffer.compare(passedOn.serializeBinary(), before)).toBe(0);
    failed.setProperties(Struct.fromJavaScript(NEWS));
    expect(Buffer.compare(failed.serializeBinary(), failure)).toBe(0);
  });

  it("copies properties when they are set", async () => {
    await prepareClasses();
    const fields: Record<string, string> = { ...OURS, a: "before" };
    const struct = Struct.fromJavaScript(fields);
    fields["a"] = "after";
    expect(struct.toJavaScript()).toEqual({ ...OURS, a: "before" });
  });

  it.each<[string, (struct: Struct) => unknown]>([
    ["its fields", (struct) => struct.getFieldsMap().getLength()],
    ["a field that is deep", (struct) => struct.getFieldsMap().get("entries")?.getStructValue()?.toJavaScript()],
    ["an object", (struct) => struct.toObject()],
    ["what it is without a field", (struct) => [struct.getFieldsMap().del("entries"), struct.toJavaScript()]],
    [
      "its bytes after a change",
      (struct) => {
        struct.getFieldsMap().del("limit");
        return Buffer.from(struct.serializeBinary()).toString("hex");
      },
    ],
  ])("matches google-protobuf for %s", async (_label, readStruct) => {
    const readEach = (): unknown[] => {
      const request = CheckRequest.deserializeBinary(written);
      return [readStruct(request.getNews() as Struct), readStruct(Struct.fromJavaScript(NEWS))];
    };
    const before = readEach();
    await prepareClasses();
    expect(readEach()).toEqual(before);
  });

  it.each<[string, () => unknown]>([
    ["what can't be written", () => Struct.fromJavaScript({ ...OURS, a: undefined as never })],
    // A value of an unknown kind.
    ["an unknown kind", () => Struct.deserializeBinary(Uint8Array.of(10, 7, 10, 1, 97, 18, 2, 64, 1)).toJavaScript()],
    ["bytes that end too early", () => Struct.deserializeBinary(written.subarray(8, 20)).toJavaScript()],
  ])("leaves %s to google-protobuf", async (_label, work) => {
    const captureOutcome = (): unknown => {
      try {
        return work();
      } catch (error) {
        return `${error}`;
      }
    };
    const before = captureOutcome();
    await prepareClasses();
    expect(captureOutcome()).toEqual(before);
  });

  it.each<[string, () => unknown]>([
    ["inherited properties", () => Struct.fromJavaScript(Object.create({ a: 1 })).toJavaScript()],
    ["nested ones", () => Struct.fromJavaScript({ m: Object.create({ a: 1 }) }).toJavaScript()],
    ["bytes", () => Struct.fromJavaScript({ a: Buffer.from("a") as never }).toJavaScript()],
    ["half a character", () => Struct.fromJavaScript({ a: "\ud800" }).serializeBinary()],
    ["a clone", () => Struct.fromJavaScript({ a: 1 }).cloneMessage().toJavaScript()],
    ["what came", () => Struct.deserializeBinary(foreign).cloneMessage().toJavaScript()],
    ["a comparison", () => Message.equals(Struct.fromJavaScript({ a: 1 }), Struct.fromJavaScript({ a: 2 }))],
  ])("leaves other packages' resources to google-protobuf: %s", async (_label, work) => {
    const captureOutcome = (): unknown => {
      try {
        return work();
      } catch (error) {
        return `${error}`;
      }
    };
    const before = captureOutcome();
    await prepareClasses();
    expect(captureOutcome()).toEqual(before);
  });
});

it.each<[string, unknown]>([
  ["in no host", undefined],
  ["in a host without such requests", {}],
  [
    "in a host whose properties are another class",
    {
      CheckRequest: class {
        static deserializeBinary = () => new this();
        getOlds = () => ({});
      },
    },
  ],
])("changes nothing %s", (_label, hostMessages) => {
  const before = [...STATICS.map((name) => Struct[name]), ...METHODS.map((name) => Struct.prototype[name])];
  enableLazyStructs(hostMessages);
  expect([...STATICS.map((name) => Struct[name]), ...METHODS.map((name) => Struct.prototype[name])]).toEqual(before);
});

it("changes nothing when properties are encoded differently", async () => {
  const { fromJavaScript } = Struct;
  Struct.fromJavaScript = (properties) => fromJavaScript({ ...(properties as object), more: 1 });
  const before = Struct.fromJavaScript;
  await prepareClasses();
  expect(Struct.fromJavaScript).toBe(before);
});
