import { afterEach, expect, test, vi } from "vitest";
import { Canary } from "../../support/canary";
import { EmptyDirectory, packPackage } from "../../support/packed-package";

const canary = new Canary();
const { key } = canary;

afterEach(() => {
  vi.unstubAllEnvs();
});

test("packs nothing from the environment into the package", async () => {
  await using directory = await EmptyDirectory.create();
  vi.stubEnv("EMAIL_SECURITY_API_KEY", key);
  vi.stubEnv("EMAIL_SECURITY_BASE_URL", `https://${Buffer.from(key).toString("hex")}.example`);
  const { files } = await packPackage(directory.path);
  expect(await canary.findInDirectory(directory.path)).toEqual([]);
  expect(files.filter((path) => !/^(dist\/|package\.json$|README|LICENSE|CHANGELOG)/.test(path))).toEqual([]);
});
