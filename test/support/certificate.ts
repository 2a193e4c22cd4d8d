import { generateKeyPairSync, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A self-signed certificate and its key, generated for each test so that no key is stored. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Generates a certificate for `hostname` (a name or an IPv4 address), valid for the given range of years (X.509 v3,
 * ECDSA on P-256).
 */
export function makeCertificate(hostname: string, [from, to] = [2000, 2100]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = encodeSequence(encodeObjectId("2a8648ce3d040302"));
  const name = encodeSequence(
    encodeDer(0x31, encodeSequence(encodeObjectId("550403"), encodeDer(0x0c, Buffer.from(hostname)))),
  );
  const encodeTime = (year: number) => encodeDer(0x18, Buffer.from(`${year}0101000000Z`));
  const alternativeNames = encodeSequence(
    isIPv4(hostname)
      ? encodeDer(0x87, Buffer.from(hostname.split(".").map(Number)))
      : encodeDer(0x82, Buffer.from(hostname)),
  );
  const body = encodeSequence(
    encodeDer(0xa0, encodeDer(0x02, Buffer.from([2]))),
    encodeDer(0x02, Buffer.from([1])),
    algorithm,
    name,
    encodeSequence(encodeTime(from ?? 2000), encodeTime(to ?? 2100)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    encodeDer(0xa3, encodeSequence(encodeSequence(encodeObjectId("551d11"), encodeDer(0x04, alternativeNames)))),
  );
  const signature = encodeDer(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  const base64 = encodeSequence(body, algorithm, signature).toString("base64");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Encodes a value in DER: tag, length, content. */
function encodeDer(tag: number, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), bytes]);
}

function encodeSequence(...content: Buffer[]): Buffer {
  return encodeDer(0x30, ...content);
}

function encodeObjectId(hex: string): Buffer {
  return encodeDer(0x06, Buffer.from(hex, "hex"));
}
