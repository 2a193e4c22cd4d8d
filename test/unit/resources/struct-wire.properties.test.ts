import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { expect, it } from "vitest";
import { readStruct, writeStruct } from "../../../provider/resources/struct-wire";

type Plain = Parameters<typeof Struct.fromJavaScript>[0];

/** What the engine and a program send: by any key, however deep, with what Pulumi marks a secret by. */
const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant("é".repeat(9_000)));
const key = fc.oneof(text, fc.constantFrom("constructor", "10", "2", "4dabf18193072939515e22adb298388d"));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    text,
    fc.double({ noNaN: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4 }),
  ),
}));
const properties = fc.dictionary(key, value, { maxKeys: 6 });

it("writes what google-protobuf writes, byte for byte, and reads it as that does", () => {
  fc.assert(
    fc.property(properties, (plain) => {
      const written = Struct.fromJavaScript(plain as Plain).serializeBinary();
      expect(Buffer.compare(writeStruct(plain) ?? Buffer.alloc(0), written)).toBe(0);
      const read = Struct.deserializeBinary(written).toJavaScript();
      const own = holds(plain, "\ufffd") ? read : readStruct(written);
      expect(isDeepStrictEqual(own, read)).toBe(true);
      expect(JSON.stringify(own)).toBe(JSON.stringify(read));
    }),
  );
});

it("reads what the engine sends in any order, a key that comes twice as it comes last", () => {
  const [one, two, three] = ["b", "a", "b"].map((name, at) =>
    Struct.fromJavaScript({ [name]: at }).serializeBinary(),
  ) as [Uint8Array, Uint8Array, Uint8Array];
  const all = Buffer.concat([one, two, three]);
  expect(JSON.stringify(readStruct(all))).toBe('{"a":1,"b":2}');
  expect(Struct.deserializeBinary(all).toJavaScript()).toEqual({ a: 1, b: 2 });
});

it("says of bytes that it can't read all of that it can't, and never reads others than google-protobuf", () => {
  fc.assert(
    fc.property(properties, fc.nat(), fc.nat(255), (plain, place, byte) => {
      const bytes = Struct.fromJavaScript(plain as Plain).serializeBinary();
      const cut = bytes.subarray(0, place % (bytes.length + 1));
      const changed = Uint8Array.from(bytes);
      if (bytes.length > 0) changed[place % bytes.length] = byte;
      for (const one of [cut, changed]) {
        const read = readStruct(one);
        if (read !== undefined) expect(isDeepStrictEqual(read, readByGoogle(one))).toBe(true);
      }
    }),
  );
});

it.each<[string, object]>([
  ["what is no number", { a: Number.NaN }],
  ["a key that is no key", JSON.parse('{ "__proto__": 1 }')],
  ["nothing", { a: undefined }],
  ["a function", { a: () => 1 }],
  ["a big number", { a: 1n }],
  ["a date", { a: [new Date(0)] }],
  ["bytes", { a: Buffer.from("a") }],
  ["half a character", { a: "\ud800" }],
  ["half a character in a key", { "\udc00": 1 }],
])("leaves %s to google-protobuf", (_what, plain) => {
  expect(writeStruct(plain)).toBeUndefined();
});

function holds(plain: object, character: string): boolean {
  return JSON.stringify(plain).includes(character);
}

function readByGoogle(bytes: Uint8Array): unknown {
  try {
    return Struct.deserializeBinary(bytes).toJavaScript();
  } catch (error) {
    return error;
  }
}
