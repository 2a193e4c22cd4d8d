import { Struct as GoogleStruct } from "google-protobuf/google/protobuf/struct_pb.js";
import { Struct as OwnStruct } from "../../provider/plugin/struct/struct-messages";

/*
 * Replaces `provider/plugin/struct/struct-messages.ts`. In the process of a test, the provider shares Pulumi's messages
 * with its caller, and these hold Google's `Struct`.
 */

Object.assign(GoogleStruct.prototype, {
  toProperties(this: GoogleStruct) {
    return toOwn(this).toProperties();
  },
  mayContain(this: GoogleStruct, text: string) {
    return toOwn(this).mayContain(text);
  },
});

export const Struct = {
  of: (properties: Readonly<Record<string, unknown>>): GoogleStruct =>
    GoogleStruct.deserializeBinary(OwnStruct.of(properties).serializeBinary()),
};

function toOwn(struct: GoogleStruct): OwnStruct {
  return new OwnStruct(Buffer.from(struct.serializeBinary()));
}
