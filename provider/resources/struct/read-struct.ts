import { keysInOrder } from "./keys-in-order";
import { tag, WIRE } from "./tags";

/**
 * Reads a `google.protobuf.Struct` as it comes over the wire straight into plain data, with nothing made in between: a list of
 * thousands of entries would be some hundred thousand objects by Google's own messages. As by these, keys are in their order.
 *
 * @param textAs what a text stands for. Default: itself.
 * @throws {Error} when the bytes are none.
 */
export function readStruct(
  bytes: Uint8Array,
  textAs: (text: string) => unknown = (text) => text,
): Record<string, unknown> {
  return new Reader(bytes, textAs).fields(bytes.length);
}

class Reader {
  readonly #bytes: Buffer;
  readonly #textAs: (text: string) => unknown;
  #at = 0;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array, textAs: (text: string) => unknown) {
    this.#bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.#textAs = textAs;
  }

  /** The map that ends at a place. */
  fields(end: number): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    while (this.#at < end) {
      const found = this.#varint();
      if (found === tag.field) this.#field(fields, this.#end());
      else this.#skip(found);
    }
    return inOrder(fields);
  }

  #field(fields: Record<string, unknown>, end: number): void {
    let key = "";
    let value: unknown;
    while (this.#at < end) {
      const found = this.#varint();
      if (found === tag.key) key = this.#text();
      else if (found === tag.fieldValue) value = this.#value(this.#end());
      else this.#skip(found);
    }
    if (value === undefined) throw new Error("a value in a message of Pulumi's is of no kind");
    put(fields, key, value);
  }

  #value(end: number): unknown {
    let value: unknown;
    while (this.#at < end) {
      const found = this.#varint();
      if (found === tag.text) value = this.#textAs(this.#text());
      else if (found === tag.map) value = this.fields(this.#end());
      else if (found === tag.list) value = this.#list(this.#end());
      else if (found === tag.number) value = this.#number();
      else if (found === tag.boolean) value = this.#varint() !== 0;
      else if (found === tag.null) value = this.#null();
      else this.#skip(found);
    }
    return value;
  }

  #list(end: number): unknown[] {
    const list: unknown[] = [];
    while (this.#at < end) {
      const found = this.#varint();
      if (found === tag.element) list.push(this.#value(this.#end()));
      else this.#skip(found);
    }
    if (list.includes(undefined)) throw new Error("a value in a message of Pulumi's is of no kind");
    return list;
  }

  #text(): string {
    const end = this.#end();
    const text = this.#bytes.toString("utf8", this.#at, end);
    this.#at = end;
    return text;
  }

  #number(): number {
    const number = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return number;
  }

  #null(): null {
    this.#varint();
    return null;
  }

  /** Where what has its length before it ends. */
  #end(): number {
    const length = this.#varint();
    return this.#within(this.#at + length);
  }

  #varint(): number {
    let byte = this.#bytes[this.#at++] ?? this.#cutOff();
    if (byte < 0x80) return byte;
    let number = byte & 0x7f;
    // Not by shifts, which are of 32 bits.
    for (let unit = 0x80; byte >= 0x80; unit *= 0x80) {
      byte = this.#bytes[this.#at++] ?? this.#cutOff();
      number += (byte & 0x7f) * unit;
    }
    return number;
  }

  /** Passes over a field that a later release of the protocol may have. */
  #skip(found: number): void {
    const wire = found % 8;
    if (wire === WIRE.varint) this.#varint();
    else if (wire === WIRE.eightBytes) this.#at = this.#within(this.#at + 8);
    else if (wire === WIRE.withLength) this.#at = this.#end();
    else if (wire === WIRE.fourBytes) this.#at = this.#within(this.#at + 4);
    else throw new Error("a message of Pulumi's has a field of no known kind");
  }

  #within(place: number): number {
    return place <= this.#bytes.length ? place : this.#cutOff();
  }

  #cutOff(): never {
    throw new Error("a message of Pulumi's is cut off");
  }
}

/** The engine sends them in any order. */
function inOrder(fields: Record<string, unknown>): Record<string, unknown> {
  const sorted: Record<string, unknown> = {};
  for (const key of keysInOrder(fields)) put(sorted, key, fields[key]);
  return sorted;
}

function put(fields: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(fields, key, { value, ...PLAIN });
  else fields[key] = value;
}

const PLAIN = { enumerable: true, configurable: true, writable: true };
