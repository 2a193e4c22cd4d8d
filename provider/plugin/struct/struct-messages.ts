import { type BinaryReader, type BinaryWriter, Message } from "google-protobuf";
import { readStruct } from "../../resources/struct/read-struct";
import { writeStruct } from "../../resources/struct/write-struct";
import { PULUMI_UNKNOWN, UNKNOWN } from "../../settings/unknown";
import { withoutUndefined } from "../../settings/without-undefined";

/*
 * The build substitutes this for `google-protobuf/google/protobuf/struct_pb.js`: the parts that Pulumi's generated messages
 * need and the plugin uses. A message keeps its bytes and is parsed on demand.
 */

class Bytes extends Message {
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

  /** Called by the containing message, whose reader then ends where this one does. */
  static override deserializeBinaryFromReader(message: Bytes, reader: BinaryReader): Bytes {
    const from = reader.getCursor();
    while (reader.nextField()) reader.skipField();
    const { buffer, byteOffset } = reader.getBuffer() as Uint8Array;
    message.bytes = Buffer.from(buffer, byteOffset + from, reader.getCursor() - from);
    return message;
  }

  /** Called by the containing message. */
  static override serializeBinaryToWriter({ bytes }: Bytes, writer: BinaryWriter): void {
    writer.writeSerializedMessage(bytes, 0, bytes.length);
  }
}

/** Properties of a message. */
export class Struct extends Bytes {
  /** `UNKNOWN` stands for unknown values in both directions; undefined values are omitted. */
  static of(properties: Readonly<Record<string, unknown>>): Struct {
    return new Struct(writeStruct(withoutUndefined(properties)));
  }

  /** Parses the properties on each call. */
  properties(): Record<string, unknown> {
    return readStruct(this.bytes, knownOr);
  }

  /** Whether a text occurs anywhere in the bytes; this is cheap. */
  mayHold(text: string): boolean {
    return this.bytes.includes(text);
  }
}

function knownOr(text: string): unknown {
  return text === PULUMI_UNKNOWN ? UNKNOWN : text;
}

/** A standalone value, which the plugin never reads. */
export class Value extends Bytes {}
