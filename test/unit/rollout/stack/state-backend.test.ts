import { describe, expect, it } from "vitest";
import { resolveStateBackend } from "../../../../provider/rollout/stack/state-backend";

const resolveBackend = (PULUMI_BACKEND_URL: string | undefined, more: NodeJS.ProcessEnv = {}) =>
  resolveStateBackend({ PULUMI_BACKEND_URL, ...more }, "/nowhere");

describe("the state backend", () => {
  // Each address is a distinct backend; the second element is its display name.
  const PLACES: readonly (readonly [address: string, displayText: string])[] = [
    ["s3://states", "s3://states"],
    ["s3://states?prefix=acme/", "s3://states?prefix=acme/"],
    ["s3://states?prefix=globex/", "s3://states?prefix=globex/"],
    [
      "s3://states?region=eu-central-1&endpoint=127.0.0.1:9000&s3ForcePathStyle=true",
      "s3://states?endpoint=127.0.0.1:9000",
    ],
    [
      "s3://states?endpoint=http://u:secret@minio.example&disableSSL=true",
      "s3://states?endpoint=http://u:%40minio.example",
    ],
    ["s3://states?prefix=a%26table%3Db", "s3://states?prefix=a%26table%3Db"],
    ["gs://states?prefix=acme", "gs://states?prefix=acme"],
    ["azblob://states?storage_account=acme", "azblob://states?storage_account=acme"],
    ["postgres://u:secret@db/states?table=acme&sslmode=require", "postgres://db/states?table=acme"],
    ["postgres://u:secret@/states?host=/run/a&password=secret", "postgres://u:@/states?host=/run/a"],
    ["https://api.pulumi.example", "https://api.pulumi.example/"],
  ];

  it("is displayed by its unique location without credentials", () => {
    const backends = PLACES.map(([address]) => resolveBackend(address));
    expect(backends.map(({ displayName }) => displayName)).toEqual(PLACES.map(([, output]) => output));
    expect(new Set(backends.map(({ fingerprint }) => fingerprint)).size).toBe(PLACES.length);
    for (const { displayName } of backends) expect(displayName).not.toContain("secret");
  });

  it.each([
    ["s3://states?region=eu-central-1&awssdk=v2&profile=ci", "s3://states"],
    ["postgres://ci:new@db/states", "postgres://db/states"],
  ])("is identified as the same place however it is opened: %s", (a, b) => {
    expect(resolveBackend(a).fingerprint).toBe(resolveBackend(b).fingerprint);
  });

  it("includes the default organization only for Pulumi's service", () => {
    const acme = { PULUMI_DEFAULT_ORGANIZATION: "acme" };
    expect(resolveBackend("https://api.pulumi.example", acme).displayName).toBe(
      "https://api.pulumi.example/, organization acme",
    );
    expect(resolveBackend(undefined, acme).displayName).toBe("the current login of Pulumi, organization acme");
    const all = [undefined, "https://api.pulumi.example"].flatMap((address) =>
      [{}, acme, { PULUMI_DEFAULT_ORGANIZATION: "globex" }].map((more) => resolveBackend(address, more).fingerprint),
    );
    expect(new Set(all).size).toBe(6);
    expect(resolveBackend("s3://states", acme)).toEqual(resolveBackend("s3://states"));
  });

  it("is displayed without raw control characters", () => {
    const { displayName } = resolveBackend("s3://states?prefix=%1b[31m%E2%80%AEx", {
      PULUMI_DEFAULT_ORGANIZATION: "a\u001b[2J",
    });
    expect(displayName).toMatch(/^[\x20-\x7e]*$/);
    expect(resolveBackend(undefined, { PULUMI_DEFAULT_ORGANIZATION: "a\u001b[2J" }).displayName).toMatch(
      /^[\x20-\x7e]*$/,
    );
  });
});
