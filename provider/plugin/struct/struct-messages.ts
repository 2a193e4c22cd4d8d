import { type BinaryReader, type BinaryWriter, Message } from "google-protobuf";
import { omitUndefined } from "../../model/omit-undefined";
import { PULUMI_UNKNOWN, UNKNOWN } from "../../model/unknown-value";
import { readStruct } from "../../resources/struct/read-struct";
import { writeStruct } from "../../resources/struct/write-struct";

/*
 * The build substitutes this for `google-protobuf/google/protobuf/struct_pb.js`: the parts that Pulumi's generated messages
 * need and the plugin uses. A message keeps its bytes and is parsed on demand.
 */

class BytesMessage extends Message {
  protected bytes: Buffer;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    super();
    this.bytes = bytes;
    // Required of any message that is embedded in another.
    Message.initialize(this, [], 0, -1, [], []);
  }

  override serializeBinary(): Uint8Array {
    return this.bytes;
  }

  override toObject(): object {
    return { bytes: this.bytes };
  }

  /** Called by the enclosing message, whose reader ends where this one does. */
  static override deserializeBinaryFromReader(message: BytesMessage, reader: BinaryReader): BytesMessage {
    const start = reader.getCursor();
    while (reader.nextField()) reader.skipField();
    const { buffer, byteOffset } = reader.getBuffer() as Uint8Array;
    message.bytes = Buffer.from(buffer, byteOffset + start, reader.getCursor() - start);
    return message;
  }

  /** Called by the enclosing message. */
  static override serializeBinaryToWriter({ bytes }: BytesMessage, writer: BinaryWriter): void {
    writer.writeSerializedMessage(bytes, 0, bytes.length);
  }
}

export class Struct extends BytesMessage {
  /** Unknown values are `UNKNOWN`, in both directions; undefined values are omitted. */
  static of(properties: Readonly<Record<string, unknown>>): Struct {
    return new Struct(writeStruct(omitUndefined(properties)));
  }

  toProperties(): Record<string, unknown> {
    return readStruct(this.bytes, decodeUnknown);
  }

  /** Returns whether a text occurs anywhere in the bytes, which is cheap. */
  mayContain(text: string): boolean {
    return this.bytes.includes(text);
  }
}

function decodeUnknown(text: string): unknown {
  return text === PULUMI_UNKNOWN ? UNKNOWN : text;
}

/** A standalone value, which the plugin never reads. */
export class Value extends BytesMessage {}
