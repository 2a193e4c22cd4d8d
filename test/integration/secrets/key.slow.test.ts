import { afterEach, expect, test, vi } from "vitest";
import { Canary } from "../../support/leak-canary";
import { packPackage } from "../../support/packed-package";
import { createTestDirectory } from "../../support/test-directory";

const canary = new Canary();
const { key } = canary;

afterEach(() => {
  vi.unstubAllEnvs();
});

test("packs nothing from the environment into the package", async () => {
  using directory = createTestDirectory();
  vi.stubEnv("EMAIL_SECURITY_API_KEY", key);
  vi.stubEnv("EMAIL_SECURITY_BASE_URL", `https://${Buffer.from(key).toString("hex")}.example`);
  const { files } = await packPackage(directory.path);
  expect(await canary.findInDirectory(directory.path)).toEqual([]);
  expect(files.filter((path) => !/^(dist\/|package\.json$|README|LICENSE|CHANGELOG)/.test(path))).toEqual([]);
});
