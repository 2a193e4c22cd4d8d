import { type BinaryReader, type BinaryWriter, Message } from "google-protobuf";
import { readStruct } from "../../resources/struct/read-struct";
import { writeStruct } from "../../resources/struct/write-struct";
import { PULUMI_UNKNOWN, UNKNOWN } from "../../settings/unknown";
import { withoutUndefined } from "../../settings/without-undefined";

/*
 * What the build puts in the place of `google-protobuf/google/protobuf/struct_pb.js`: the messages that Pulumi's own are
 * generated to hold, as far as the plugin has a use for them. One is its bytes, which are read when somebody asks for them.
 */

class BytesMessage extends Message {
  protected bytes: Buffer;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    super();
    this.bytes = bytes;
    // What a message in which this one is wants of it.
    Message.initialize(this, [], 0, -1, [], []);
  }

  override serializeBinary(): Uint8Array {
    return this.bytes;
  }

  override toObject(): object {
    return { bytes: this.bytes };
  }

  /** Called by the message in which it comes, whose reader then ends where this one does. */
  static override deserializeBinaryFromReader(message: BytesMessage, reader: BinaryReader): BytesMessage {
    const start = reader.getCursor();
    while (reader.nextField()) reader.skipField();
    const { buffer, byteOffset } = reader.getBuffer() as Uint8Array;
    message.bytes = Buffer.from(buffer, byteOffset + start, reader.getCursor() - start);
    return message;
  }

  /** Called by the message in which it goes. */
  static override serializeBinaryToWriter({ bytes }: BytesMessage, writer: BinaryWriter): void {
    writer.writeSerializedMessage(bytes, 0, bytes.length);
  }
}

/** Properties of a message. */
export class Struct extends BytesMessage {
  /** What is not known yet is `UNKNOWN`, in both directions; what is undefined is left out. */
  static of(properties: Readonly<Record<string, unknown>>): Struct {
    return new Struct(writeStruct(withoutUndefined(properties)));
  }

  /** They are read anew each time. */
  properties(): Record<string, unknown> {
    return readStruct(this.bytes, decodeUnknown);
  }

  /** Whether a text stands anywhere in it. It costs next to nothing. */
  mayHold(text: string): boolean {
    return this.bytes.includes(text);
  }
}

function decodeUnknown(text: string): unknown {
  return text === PULUMI_UNKNOWN ? UNKNOWN : text;
}

/** A value that stands alone, which the plugin looks at nowhere. */
export class Value extends BytesMessage {}
