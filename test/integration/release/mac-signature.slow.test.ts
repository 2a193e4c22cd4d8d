import { execFile, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { signAdHoc } from "#scripts/mac-signature";
import { createTestDirectory } from "../../support/test-directory";

const missing = spawnSync("go", ["version"]).status === 0 ? undefined : "there is no Go, which makes what is compared";

it.skipIf(missing)(
  `signs a program for macOS as Go's linker does${missing ? ` (skipped: ${missing})` : ""}`,
  async () => {
    using directory = createTestDirectory();
    const signed = await buildGoProgram(directory.path);
    const { unsigned, linkEdit, signatureAt } = removeSignature(signed);

    const again = signAdHoc(unsigned, "a.out");

    // Go's linker leaves the segment's size in memory as it is; other tools round it up to whole pages. The size is on
    // the first page, so that page's digest differs too.
    const digests = signatureAt + 20 + 88 + "a.out\0".length;
    expect(again.readBigUInt64LE(linkEdit + 32) % 0x4000n).toBe(0n);
    for (const program of [signed, again]) {
      program.fill(0, linkEdit + 32, linkEdit + 40);
      program.fill(0, digests, digests + 32);
    }
    expect(again.equals(signed)).toBe(true);
    expect(() => signAdHoc(signed, "a.out")).toThrow("is already signed");
  },
);

/** Builds a program for macOS on arm64, signed by Go's linker. */
async function buildGoProgram(directory: string): Promise<Buffer> {
  await writeFile(join(directory, "go.mod"), "module program\n\ngo 1.21\n");
  await writeFile(join(directory, "main.go"), "package main\n\nfunc main() {}\n");
  await promisify(execFile)("go", ["build", "-trimpath", "-o", "program", "."], {
    cwd: directory,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off", GOOS: "darwin", GOARCH: "arm64" },
  });
  return await readFile(join(directory, "program"));
}

function removeSignature(signed: Buffer): { unsigned: Buffer; linkEdit: number; signatureAt: number } {
  let linkEdit = 0;
  let last = 0;
  let index = 32;
  for (let commandCount = signed.readUInt32LE(16); commandCount > 0; commandCount--) {
    if (signed.toString("latin1", index + 8, index + 18) === "__LINKEDIT") linkEdit = index;
    last = index;
    index += signed.readUInt32LE(index + 4);
  }
  expect(signed.readUInt32LE(last)).toBe(0x1d);
  const signatureAt = signed.readUInt32LE(last + 8);
  const unsigned = Buffer.from(signed.subarray(0, signatureAt));
  unsigned.fill(0, last, last + 16);
  unsigned.writeUInt32LE(unsigned.readUInt32LE(16) - 1, 16);
  unsigned.writeUInt32LE(unsigned.readUInt32LE(20) - 16, 20);
  const start = signed.readBigUInt64LE(linkEdit + 40);
  unsigned.writeBigUInt64LE(BigInt(signatureAt) - start, linkEdit + 48);
  return { unsigned, linkEdit, signatureAt };
}
