import { createHash } from "node:crypto";

/*
 * Creates the signature that macOS requires to start a program on arm64. It is an "ad hoc" signature: it has no
 * identity and contains only the digest of each page. The result is identical to that of the linkers of Go and LLVM
 * (`cmd/internal/codesign` of Go).
 */

const MACH_O_64 = 0xfeedfacf;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const HEADER_BYTES = 32;
const COMMAND_BYTES = 16;

const PAGE_BYTES = 4096;
const SUPER_BLOB_BYTES = 20;
const DIRECTORY_BYTES = 88;
const DIGEST_BYTES = 32;

const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const DIRECTORY_VERSION = 0x20400;
/** The flags for "ad hoc" and "linker-signed". */
const FLAGS = 0x20002;
const SHA256 = 2;
const MAIN_BINARY = 1n;

/**
 * Adds an ad hoc signature to a macOS program.
 *
 * @param program for a single architecture (not a "fat" file), without a signature
 * @param id the identifier in the signature
 */
export function signAdHoc(program: Buffer, id: string): Buffer {
  if (program.readUInt32LE(0) !== MACH_O_64) throw new Error("This isn't a program for macOS.");
  const { text, linkEdit, end, isSigned } = findSegments(program);
  if (isSigned) throw new Error("The program is already signed.");
  if (program.subarray(end, end + COMMAND_BYTES).some((byte) => byte !== 0)) {
    throw new Error("The program has no space for the load command of a signature.");
  }

  const codeBytes = roundUp(program.length, 16);
  const pages = Math.ceil(codeBytes / PAGE_BYTES);
  const directoryBytes = DIRECTORY_BYTES + id.length + 1 + pages * DIGEST_BYTES;
  const signatureBytes = SUPER_BLOB_BYTES + directoryBytes;
  const signed = Buffer.alloc(codeBytes + signatureBytes);
  program.copy(signed);

  signed.writeUInt32LE(signed.readUInt32LE(16) + 1, 16);
  signed.writeUInt32LE(signed.readUInt32LE(20) + COMMAND_BYTES, 20);
  [LC_CODE_SIGNATURE, COMMAND_BYTES, codeBytes, signatureBytes].forEach((value, offset) => {
    signed.writeUInt32LE(value, end + 4 * offset);
  });
  // The signature is at the end of the segment, whose size in memory is a multiple of the page size.
  const linkEditBytes = BigInt(signed.length) - signed.readBigUInt64LE(linkEdit + 40);
  signed.writeBigUInt64LE(linkEditBytes, linkEdit + 48);
  const pageBytes = isArm(program) ? 0x4000 : 0x1000;
  signed.writeBigUInt64LE(BigInt(roundUp(Number(linkEditBytes), pageBytes)), linkEdit + 32);

  const writeWords = (values: readonly number[], offset: number): void => {
    values.forEach((value, index) => {
      signed.writeUInt32BE(value, offset + 4 * index);
    });
  };
  writeWords([SUPER_BLOB, signatureBytes, 1, 0, SUPER_BLOB_BYTES], codeBytes);
  const directory = codeBytes + SUPER_BLOB_BYTES;
  const digests = DIRECTORY_BYTES + id.length + 1;
  writeWords([CODE_DIRECTORY, directoryBytes, DIRECTORY_VERSION, FLAGS, digests, DIRECTORY_BYTES], directory);
  writeWords([0, pages, codeBytes], directory + 24);
  signed.set([DIGEST_BYTES, SHA256, 0, Math.log2(PAGE_BYTES)], directory + 36);
  signed.writeBigUInt64BE(program.readBigUInt64LE(text + 40), directory + 64);
  signed.writeBigUInt64BE(program.readBigUInt64LE(text + 48), directory + 72);
  signed.writeBigUInt64BE(MAIN_BINARY, directory + 80);
  signed.write(id, directory + DIRECTORY_BYTES, "latin1");
  for (let page = 0; page < pages; page++) {
    const content = signed.subarray(page * PAGE_BYTES, Math.min((page + 1) * PAGE_BYTES, codeBytes));
    createHash("sha256")
      .update(content)
      .digest()
      .copy(signed, directory + digests + page * DIGEST_BYTES);
  }
  return signed;
}

/** Finds the load commands of the two segments and the end of all load commands. */
function findSegments(program: Buffer): { text: number; linkEdit: number; end: number; isSigned: boolean } {
  const segments = new Map<string, number>();
  let isSigned = false;
  let offset = HEADER_BYTES;
  for (let remaining = program.readUInt32LE(16); remaining > 0; remaining--) {
    const command = program.readUInt32LE(offset);
    if (command === LC_CODE_SIGNATURE) isSigned = true;
    if (command === LC_SEGMENT_64) {
      segments.set(program.toString("latin1", offset + 8, offset + 24).replace(/\0+$/, ""), offset);
    }
    offset += program.readUInt32LE(offset + 4);
  }
  const [text, linkEdit] = [segments.get("__TEXT"), segments.get("__LINKEDIT")];
  if (text === undefined || linkEdit === undefined) throw new Error("The program doesn't have the usual segments.");
  return { text, linkEdit, end: offset, isSigned };
}

function isArm(program: Buffer): boolean {
  return program.readUInt32LE(4) === 0x0100000c;
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
