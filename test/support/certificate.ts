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
  const algorithm = sequence(objectId("2a8648ce3d040302"));
  const name = sequence(der(0x31, sequence(objectId("550403"), der(0x0c, Buffer.from(hostname)))));
  const time = (year: number) => der(0x18, Buffer.from(`${year}0101000000Z`));
  const alternativeNames = sequence(
    isIPv4(hostname) ? der(0x87, Buffer.from(hostname.split(".").map(Number))) : der(0x82, Buffer.from(hostname)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(from ?? 2000), time(to ?? 2100)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(objectId("551d11"), der(0x04, alternativeNames)))),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  const base64 = sequence(body, algorithm, signature).toString("base64");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Encodes a value in DER: tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), bytes]);
}

function sequence(...content: Buffer[]): Buffer {
  return der(0x30, ...content);
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}
