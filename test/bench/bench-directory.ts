import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A temporary directory, removed when it goes out of scope. */
export interface BenchDirectory extends Disposable {
  readonly path: string;
}

export function createBenchDirectory(): BenchDirectory {
  const path = mkdtempSync(join(tmpdir(), "email-security-bench-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
