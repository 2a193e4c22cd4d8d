import { getSortedKeys } from "./sorted-keys";
import { tag, WIRE_TYPES } from "./tags";

/**
 * Decodes a `google.protobuf.Struct` from its wire format directly into plain data. Google's message classes would create
 * some hundred thousand objects for a list of thousands of entries. The keys are sorted, as with these classes.
 *
 * @param convertText converts each string value. Default: no conversion.
 * @throws {Error} if the bytes aren't a valid `Struct`.
 */
export function readStruct(
  bytes: Uint8Array,
  convertText: (text: string) => unknown = (text) => text,
): Record<string, unknown> {
  return new StructReader(bytes, convertText).readFields(bytes.length);
}

class StructReader {
  readonly #bytes: Buffer;
  readonly #convertText: (text: string) => unknown;
  #offset = 0;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array, convertText: (text: string) => unknown) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.#convertText = convertText;
  }

  readFields(end: number): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    while (this.#offset < end) {
      const fieldTag = this.#readVarint();
      if (fieldTag === tag.field) this.#readField(result, this.#readEnd());
      else this.#skipField(fieldTag);
    }
    return sortFields(result);
  }

  #readField(readFields: Record<string, unknown>, end: number): void {
    let key = "";
    let value: unknown;
    while (this.#offset < end) {
      const fieldTag = this.#readVarint();
      if (fieldTag === tag.key) key = this.#readText();
      else if (fieldTag === tag.fieldValue) value = this.#readValue(this.#readEnd());
      else this.#skipField(fieldTag);
    }
    if (value === undefined) throw new Error("a value in a message of Pulumi has no kind");
    setField(readFields, key, value);
  }

  #readValue(end: number): unknown {
    let value: unknown;
    while (this.#offset < end) {
      const fieldTag = this.#readVarint();
      if (fieldTag === tag.text) value = this.#convertText(this.#readText());
      else if (fieldTag === tag.map) value = this.readFields(this.#readEnd());
      else if (fieldTag === tag.list) value = this.#readList(this.#readEnd());
      else if (fieldTag === tag.number) value = this.#readNumber();
      else if (fieldTag === tag.boolean) value = this.#readVarint() !== 0;
      else if (fieldTag === tag.null) value = this.#readNull();
      else this.#skipField(fieldTag);
    }
    return value;
  }

  #readList(end: number): unknown[] {
    const list: unknown[] = [];
    while (this.#offset < end) {
      const fieldTag = this.#readVarint();
      if (fieldTag === tag.element) list.push(this.#readValue(this.#readEnd()));
      else this.#skipField(fieldTag);
    }
    if (list.includes(undefined)) throw new Error("a value in a message of Pulumi has no kind");
    return list;
  }

  #readText(): string {
    const end = this.#readEnd();
    const text = this.#bytes.toString("utf8", this.#offset, end);
    this.#offset = end;
    return text;
  }

  #readNumber(): number {
    const number = this.#bytes.readDoubleLE(this.#offset);
    this.#offset += 8;
    return number;
  }

  #readNull(): null {
    this.#readVarint();
    return null;
  }

  #readEnd(): number {
    const length = this.#readVarint();
    return this.#checkOffset(this.#offset + length);
  }

  #readVarint(): number {
    let byte = this.#bytes[this.#offset++] ?? this.#throwTruncated();
    if (byte < 0x80) return byte;
    let number = byte & 0x7f;
    // Shift operators would truncate the number to 32 bits.
    for (let unit = 0x80; byte >= 0x80; unit *= 0x80) {
      byte = this.#bytes[this.#offset++] ?? this.#throwTruncated();
      number += (byte & 0x7f) * unit;
    }
    return number;
  }

  /** Skips an unknown field, which a later release of the protocol may add. */
  #skipField(fieldTag: number): void {
    const wireType = fieldTag % 8;
    if (wireType === WIRE_TYPES.varint) this.#readVarint();
    else if (wireType === WIRE_TYPES.fixed64) this.#offset = this.#checkOffset(this.#offset + 8);
    else if (wireType === WIRE_TYPES.lengthDelimited) this.#offset = this.#readEnd();
    else if (wireType === WIRE_TYPES.fixed32) this.#offset = this.#checkOffset(this.#offset + 4);
    else throw new Error("a message of Pulumi has a field of an unknown kind");
  }

  #checkOffset(offset: number): number {
    return offset <= this.#bytes.length ? offset : this.#throwTruncated();
  }

  #throwTruncated(): never {
    throw new Error("a message of Pulumi is truncated");
  }
}

/** The engine sends fields in any order. */
function sortFields(readFields: Record<string, unknown>): Record<string, unknown> {
  const sorted: Record<string, unknown> = {};
  for (const key of getSortedKeys(readFields)) setField(sorted, key, readFields[key]);
  return sorted;
}

function setField(readFields: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(readFields, key, { value, ...PROPERTY_ATTRIBUTES });
  else readFields[key] = value;
}

const PROPERTY_ATTRIBUTES = { enumerable: true, configurable: true, writable: true };
