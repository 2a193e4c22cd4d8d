import { gzipSync } from "node:zlib";

/** A file in an archive. */
export interface ArchiveFile {
  readonly name: string;
  readonly content: Buffer;
  /** Whether the file is executable. Default: false. */
  readonly isExecutable?: boolean;
}

const BLOCK_BYTES = 512;

/** The modification time that npm uses for every file in a package: 1985-10-26T08:15:00Z. */
const MODIFIED_AT = 499_162_500;

/**
 * Creates an archive (`.tar.gz`) of files without directories. The output is reproducible, because times and owners are
 * omitted.
 */
export function createTarGz(files: readonly ArchiveFile[]): Buffer {
  const blocks = files.flatMap((file) => [
    buildHeader(file),
    file.content,
    Buffer.alloc(-file.content.length & (BLOCK_BYTES - 1)),
  ]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]));
}

/** Builds a header in the ustar format of POSIX. */
function buildHeader({ name, content, isExecutable }: ArchiveFile): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  if (name.length > 100) throw new Error(`The name ${name} is too long for an archive.`);
  const writeOctal = (value: number, offset: number, digits: number): void => {
    header.write(`${value.toString(8).padStart(digits, "0")}\0`, offset, "latin1");
  };
  header.write(name, "latin1");
  writeOctal(isExecutable === true ? 0o755 : 0o644, 100, 7);
  writeOctal(0, 108, 7);
  writeOctal(0, 116, 7);
  writeOctal(content.length, 124, 11);
  writeOctal(MODIFIED_AT, 136, 11);
  header.write("        ", 148, "latin1");
  header.write("0", 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  const checksum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${checksum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}
