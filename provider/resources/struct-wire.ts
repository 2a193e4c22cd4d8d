/*
 * Properties as they go between the engine and a provider: Protobuf's `google.protobuf.Struct`, read from the wire straight into
 * a plain object and written from one, as `toJavaScript` and `fromJavaScript` of google-protobuf do by way of several objects a
 * value. What those would refuse, or read in their own way, is told by undefined.
 */

/** A plain object of the fields of a `Struct`, in the order of their names; undefined where it can't be read so. */
export function readStruct(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const wire: Wire = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 0 };
    return structIn(wire, bytes.byteLength);
  } catch (error) {
    if (error === NOT_PLAIN) return undefined;
    throw error;
  }
}

/** The bytes of a `Struct` with the properties of a plain object, in the order of their names; undefined where it holds anything else. */
export function writeStruct(properties: object): Uint8Array | undefined {
  try {
    const target: Target = { bytes: Buffer.allocUnsafe(1024), length: 0 };
    putStruct(target, properties as Record<string, unknown>);
    return target.bytes.subarray(0, target.length);
  } catch (error) {
    if (error === NOT_PLAIN) return undefined;
    throw error;
  }
}

const NOT_PLAIN = new Error("this is no plain value");

/** The number of a field with how it is written: in as few bytes as it takes, in eight, or with its length before it. */
const FIELD = 0x0a;
const KEY = 0x0a;
const VALUE = 0x12;
const NULL = 0x08;
const NUMBER = 0x11;
const TEXT = 0x1a;
const BOOLEAN = 0x20;
const STRUCT = 0x2a;
const LIST = 0x32;

interface Wire {
  readonly bytes: Buffer;
  at: number;
}

function structIn(wire: Wire, end: number): Record<string, unknown> {
  const values = new Map<string, unknown>();
  while (wire.at < end) {
    expectTag(wire, FIELD);
    const entryEnd = endOf(wire, end);
    expectTag(wire, KEY);
    const key = known(textIn(wire, entryEnd));
    expectTag(wire, VALUE);
    values.set(key, valueIn(wire, endOf(wire, entryEnd)));
    if (wire.at !== entryEnd) throw NOT_PLAIN;
  }
  const struct: Record<string, unknown> = {};
  for (const key of inOrder([...values.keys()])) struct[key] = values.get(key);
  return struct;
}

function valueIn(wire: Wire, end: number): unknown {
  const value = anyIn(wire, end);
  // One of several kinds at once is read as the last of them, which nobody writes.
  if (wire.at !== end) throw NOT_PLAIN;
  return value;
}

function anyIn(wire: Wire, end: number): unknown {
  switch (byteIn(wire, end)) {
    case TEXT:
      return textIn(wire, end);
    case NULL:
      return byteIn(wire, end) === 0 ? null : refuse();
    case BOOLEAN: {
      const truth = byteIn(wire, end);
      return truth > 1 ? refuse() : truth === 1;
    }
    case NUMBER:
      wire.at += 8;
      return wire.at > end ? refuse() : wire.bytes.readDoubleLE(wire.at - 8);
    case STRUCT:
      return structIn(wire, endOf(wire, end));
    case LIST:
      return listIn(wire, endOf(wire, end));
    default:
      return refuse();
  }
}

function listIn(wire: Wire, end: number): unknown[] {
  const list: unknown[] = [];
  while (wire.at < end) {
    expectTag(wire, FIELD);
    list.push(valueIn(wire, endOf(wire, end)));
  }
  return list;
}

function textIn(wire: Wire, end: number): string {
  const textEnd = endOf(wire, end);
  const text = wire.bytes.toString("utf8", wire.at, textEnd);
  wire.at = textEnd;
  // Also read from bytes that are no text, which google-protobuf reads as others.
  return text.includes("\ufffd") ? refuse() : text;
}

/** Where what begins with its length ends. */
function endOf(wire: Wire, end: number): number {
  let length = 0;
  for (let factor = 1; ; factor *= 0x80) {
    const byte = byteIn(wire, end);
    length += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return wire.at + length > end ? refuse() : wire.at + length;
}

interface Target {
  bytes: Buffer;
  length: number;
}

function putStruct(target: Target, properties: Record<string, unknown>): void {
  const keys: string[] = [];
  // What is inherited is written too, as by google-protobuf.
  for (const key in properties) keys.push(key);
  for (const key of inOrder(keys)) {
    const keyLength = lengthOf(known(key));
    const value = sized(properties[key]);
    putTag(target, FIELD, withLength(keyLength) + withLength(value.length));
    putTag(target, KEY, keyLength);
    putText(target, key, keyLength);
    putValue(target, VALUE, value);
  }
}

/** A value with how many bytes it takes: a text as it is, for there are thousands, and anything else in its bytes. */
interface Sized {
  readonly text: string | undefined;
  readonly bytes: Uint8Array | undefined;
  readonly length: number;
}

function sized(value: unknown): Sized {
  if (typeof value === "string")
    return { text: value, bytes: undefined, length: withLength(lengthOf(value)) };
  const bytes = bytesOf(value);
  return { text: undefined, bytes, length: bytes.length };
}

function bytesOf(value: unknown): Uint8Array {
  if (value === null) return Uint8Array.of(NULL, 0);
  if (typeof value === "boolean") return Uint8Array.of(BOOLEAN, Number(value));
  if (typeof value === "number" && !Number.isNaN(value)) {
    const bytes = Buffer.alloc(9, NUMBER);
    bytes.writeDoubleLE(value, 1);
    return bytes;
  }
  // One that is no number has several forms.
  if (typeof value !== "object") throw NOT_PLAIN;
  const content: Target = { bytes: Buffer.allocUnsafe(256), length: 0 };
  if (Array.isArray(value))
    for (let at = 0; at < value.length; at++) putValue(content, FIELD, sized(value[at]));
  else if (isPlain(value)) putStruct(content, value);
  else throw NOT_PLAIN;
  const whole: Target = { bytes: Buffer.allocUnsafe(withLength(content.length)), length: 0 };
  putTag(whole, Array.isArray(value) ? LIST : STRUCT, content.length);
  putBytes(whole, content.bytes.subarray(0, content.length));
  return whole.bytes.subarray(0, whole.length);
}

function putValue(target: Target, tag: number, { text, bytes, length }: Sized): void {
  putTag(target, tag, length);
  if (bytes !== undefined) putBytes(target, bytes);
  if (text === undefined) return;
  const textLength = lengthOf(text);
  putTag(target, TEXT, textLength);
  putText(target, text, textLength);
}

function putTag(target: Target, tag: number, length: number): void {
  makeRoom(target, 6);
  target.bytes[target.length++] = tag;
  let rest = length;
  for (; rest >= 0x80; rest >>>= 7) target.bytes[target.length++] = (rest & 0x7f) | 0x80;
  target.bytes[target.length++] = rest;
}

function putText(target: Target, text: string, length: number): void {
  makeRoom(target, length);
  target.bytes.write(text, target.length, length, "utf8");
  target.length += length;
}

function putBytes(target: Target, bytes: Uint8Array): void {
  makeRoom(target, bytes.length);
  target.bytes.set(bytes, target.length);
  target.length += bytes.length;
}

function makeRoom(target: Target, length: number): void {
  const wanted = target.length + length;
  if (wanted <= target.bytes.length) return;
  const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * target.bytes.length));
  larger.set(target.bytes.subarray(0, target.length));
  target.bytes = larger;
}

/** The key, unless it is the one that means something to a JavaScript object, which google-protobuf loses. */
function known(key: string): string {
  return key === "__proto__" ? refuse() : key;
}

/** How many bytes a text takes. Half a character is written in another way by google-protobuf, and refused by the engine. */
function lengthOf(text: string): number {
  return text.isWellFormed() ? Buffer.byteLength(text) : refuse();
}

/** How many bytes so many take with their tag and their length before them. */
function withLength(length: number): number {
  let size = 2 + length;
  for (let rest = length; rest >= 0x80; rest >>>= 7) size += 1;
  return size;
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function inOrder(keys: string[]): string[] {
  const isSorted = keys.every((key, at) => at === 0 || (keys[at - 1] as string) < key);
  return isSorted ? keys : keys.sort();
}

function expectTag(wire: Wire, tag: number): void {
  if (wire.bytes[wire.at++] !== tag) throw NOT_PLAIN;
}

function byteIn(wire: Wire, end: number): number {
  return wire.at < end ? (wire.bytes[wire.at++] as number) : refuse();
}

function refuse(): never {
  throw NOT_PLAIN;
}
