import { tmpdir, userInfo } from "node:os";
import { getCacheDirectory } from "../engine/cache-directory";
import { SharedLines, type SharingOptions } from "./cross-process-declarations";
import type { TenantList } from "./lifecycle/lifecycle";

export function buildSharingOptions(engine: string | undefined, environment: NodeJS.ProcessEnv): SharingOptions {
  return {
    directories: [
      { parent: getCacheDirectory(environment), name: "declared" },
      { parent: tmpdir(), name: `pulumi-email-security-${userInfo().uid}` },
    ],
    runId: `${engine?.replace(/\W/g, "-")}`,
    parentPid: process.ppid,
  };
}

const LINES_NAME = "announced";

/**
 * The explicit instances that will declare parts of a list, as announced by the program before the engine starts their
 * processes. A process can then wait for another one that hasn't started yet.
 */
export class InstanceAnnouncements {
  readonly #lines: SharedLines;
  readonly #writtenLines = new Set<string>();

  constructor(options: SharingOptions) {
    this.#lines = new SharedLines(options, LINES_NAME);
  }

  add(list: TenantList, instance: string): void {
    const line = `${list} ${encodeURIComponent(instance)}`;
    if (this.#writtenLines.has(line)) return;
    this.#writtenLines.add(line);
    this.#lines.add([line]);
  }

  getInstances(list: TenantList): ReadonlySet<string> {
    const lines = this.#lines.readFiles().flat();
    const prefix = `${list} `;
    return new Set(
      lines.filter((line) => line.startsWith(prefix)).map((line) => decodeURIComponent(line.slice(prefix.length))),
    );
  }

  end(): void {
    this.#lines.end();
  }
}
