import fc from "fast-check";
import { BinaryReader, BinaryWriter } from "google-protobuf";
import { Struct as GoogleStruct, ListValue, Value } from "google-protobuf/google/protobuf/struct_pb.js";
import { describe, expect, it } from "vitest";
import { PULUMI_UNKNOWN, UNKNOWN } from "../../../provider/model/unknown-value";
import { Struct } from "../../../provider/plugin/struct/struct-messages";
import { readStruct } from "../../../provider/resources/struct/read-struct";
import { writeStruct } from "../../../provider/resources/struct/write-struct";

type PlainObject = Readonly<Record<string, unknown>>;

/** The key with which Pulumi marks special values, such as secrets and assets, on the wire. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = { [SIGNATURE]: "1b47061264138c4ac30d75fd1eb44270", value: "s3cret" };
const RESOURCE = {
  [SIGNATURE]: "5cf8f73096256a8f31e491e813e4eb8e",
  urn: "urn:pulumi:a",
  id: "7",
  packageVersion: "",
};
const ASSET = { [SIGNATURE]: "c44067f5952c0a294b673a41bacd8c17", hash: "", text: "…" };

const texts = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.nat(200).map((length) => "é".repeat(length)),
);
const leaves = fc.oneof(
  texts,
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, "", 0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, {}, []),
  fc.constantFrom(SECRET, RESOURCE, ASSET),
);
const keys = fc.oneof(
  texts,
  fc.constantFrom("", "7", "constructor", "hasOwnProperty", "toString", "evil.example", "__provider"),
);
const properties = fc.dictionary(
  keys,
  fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      leaves,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(keys, tie("value"), { maxKeys: 3 }),
    ),
  })).value,
  { maxKeys: 4 },
);

const RUNS = { numRuns: 60 };

function serializeWithGoogle(map: PlainObject): Buffer {
  return Buffer.from(GoogleStruct.fromJavaScript(map as never).serializeBinary());
}

function readByGoogle(bytes: Uint8Array): unknown {
  return GoogleStruct.deserializeBinary(bytes).toJavaScript();
}

describe("struct encoding", () => {
  it("reads properties exactly as google-protobuf does", () => {
    fc.assert(
      fc.property(properties, (map) => {
        const bytes = serializeWithGoogle(map);
        const [read, readByThem] = [readStruct(bytes), readByGoogle(bytes)];
        expect(read).toEqual(readByThem);
        // In the same order, too.
        expect(JSON.stringify(read)).toBe(JSON.stringify(readByThem));
      }),
      RUNS,
    );
  });

  it("writes properties that google-protobuf reads back, in equal length", () => {
    fc.assert(
      fc.property(properties, (map) => {
        const bytes = writeStruct(map);
        expect(readByGoogle(bytes)).toEqual(readByGoogle(serializeWithGoogle(map)));
        expect(bytes).toHaveLength(serializeWithGoogle(map).length);
      }),
      RUNS,
    );
  });

  it("writes the bytes of google-protobuf when keys are in order", () => {
    const map = { a: "x".repeat(200), b: { c: [1, -0.5, null, true, false, {}, []], d: "ü" }, e: SECRET };
    expect(writeStruct(map).toString("hex")).toBe(serializeWithGoogle(map).toString("hex"));
    expect(readStruct(writeStruct(map))).toEqual(map);
  });

  it("maps unknown values to Pulumi's placeholder", () => {
    const known = { a: PULUMI_UNKNOWN, b: [{ c: PULUMI_UNKNOWN }], [PULUMI_UNKNOWN]: "d" };
    const plain = { a: UNKNOWN, b: [{ c: UNKNOWN }], [PULUMI_UNKNOWN]: "d" };
    expect(new Struct(serializeWithGoogle(known)).toProperties()).toEqual(plain);
    expect(readStruct(serializeWithGoogle(known))).toEqual(known);
    expect(readByGoogle(writeStruct(plain))).toEqual(known);
  });

  it("rejects values that are not plain data", () => {
    for (const other of [
      { a: undefined },
      { a: new Date(0) },
      { a: [Buffer.from("a")] },
      { a: { b: undefined } },
      { a: [undefined] },
      { a: 1n },
      { a: Symbol("a") },
      { a: () => 1 },
    ]) {
      expect(() => writeStruct(other)).toThrow("can't be sent to Pulumi");
    }
  });

  it("treats a __proto__ key like any other", () => {
    const map = JSON.parse('{ "__proto__": "deny", "a": { "__proto__": { "b": 1 } } }') as PlainObject;
    const read = readStruct(writeStruct(map));
    expect(Object.keys(read)).toEqual(["__proto__", "a"]);
    expect(JSON.stringify(read)).toBe(JSON.stringify(map));
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  it("replaces invalid UTF-8 and lone surrogates", () => {
    const bytes = writeStruct({ a: "abc" });
    bytes[bytes.indexOf("abc") + 1] = 0xff;
    expect(readStruct(bytes)).toEqual({ a: "a\ufffdc" });
    expect(readStruct(writeStruct({ a: "\ud800", b: "x\udc00y" }))).toEqual({ a: "\ufffd", b: "x\ufffdy" });
  });

  it("handles texts of any length", () => {
    const map = {
      a: "é".repeat(40_000),
      b: { c: "x".repeat(3_000_000) },
      d: Array.from({ length: 300 }, (_, index) => index),
    };
    expect(writeStruct(map).equals(serializeWithGoogle(map))).toBe(true);
    expect(readStruct(writeStruct(map))).toEqual(map);
  });

  it("ignores fields that a later protocol adds", () => {
    const writer = new BinaryWriter();
    writer.writeInt32(9, 300);
    writer.beginSubMessage(1);
    writer.writeString(7, "later");
    writer.writeString(1, "key");
    writer.beginSubMessage(2);
    writer.writeDouble(11, 1);
    writer.writeFixed32(12, 1);
    writer.writeString(3, "text");
    writer.endSubMessage(2);
    writer.endSubMessage(1);
    expect(readStruct(Buffer.from(writer.getResultBuffer()))).toEqual({ key: "text" });
  });

  it("rejects invalid input", () => {
    const bytes = writeStruct({ a: "x", b: [1, { c: null }] });
    const whole = bytes.indexOf("b") - 4;
    for (let length = 1; length < bytes.length; length++) {
      if (length === whole) continue;
      expect(() => readStruct(bytes.subarray(0, length)), String(length)).toThrow(/truncated/);
    }
    const none = new GoogleStruct();
    none.getFieldsMap().set("a", new Value());
    expect(() => readStruct(Buffer.from(none.serializeBinary()))).toThrow("has no kind");
    const list = new ListValue();
    list.addValues(new Value());
    const inList = new GoogleStruct();
    inList.getFieldsMap().set("a", new Value().setListValue(list));
    expect(() => readStruct(Buffer.from(inList.serializeBinary()))).toThrow("has no kind");
  });

  it("sorts keys", () => {
    const all = Buffer.concat(["b", "a", "b"].map((name, index) => serializeWithGoogle({ [name]: index })));
    expect(JSON.stringify(readStruct(all))).toBe('{"a":1,"b":2}');
    expect(readByGoogle(all)).toEqual({ a: 1, b: 2 });
  });
});

describe("Struct message", () => {
  it("omits undefined properties", () => {
    expect(Struct.of({ a: undefined, b: 1 }).toProperties()).toEqual({ b: 1 });
  });

  it("has the same calls as google-protobuf", () => {
    const writer = new BinaryWriter();
    writer.writeString(1, "before");
    writer.writeMessage(2, Struct.of({ a: "b" }), Struct.serializeBinaryToWriter);
    writer.writeMessage(3, Struct.of({}), Struct.serializeBinaryToWriter);
    writer.writeString(4, "after");
    const reader = new BinaryReader(writer.getResultBuffer());
    const [first, second] = [Struct.of({ x: 1 }), Struct.of({ x: 1 })];
    const values: unknown[] = [];
    while (reader.nextField()) {
      if (reader.getFieldNumber() === 2) reader.readMessage(first, Struct.deserializeBinaryFromReader);
      else if (reader.getFieldNumber() === 3) reader.readMessage(second, Struct.deserializeBinaryFromReader);
      else values.push(reader.readString());
    }
    expect([first.toProperties(), second.toProperties(), values]).toEqual([{ a: "b" }, {}, ["before", "after"]]);
    expect([first.mayContain("b"), first.mayContain("c")]).toEqual([true, false]);
  });
});
