import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Declarations, type SharingOptions } from "../../../provider/resources/cross-process-declarations";
import type { DirectoryLocation } from "../../../provider/system/private-directory";
import { getMachineId } from "../../../provider/system/processes";

let directory: string;
let place: DirectoryLocation;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-declared-"));
  place = { parent: tmpdir(), name: basename(directory) };
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

it("shares declarations only within one run and tenant", () => {
  const declarations = createDeclarations();
  declarations.declare(["deny:evil.example"], "https://a.example key");
  const other = createDeclarations();
  expect(other.has("deny:evil.example", "https://a.example key")).toBe(true);
  expect(other.has("deny:good.example", "https://a.example key")).toBe(false);
  declarations.declare(["deny:good.example"], "https://a.example key");
  expect(other.has("deny:good.example", "https://a.example key")).toBe(true);
  expect(createDeclarations({ runId: "2" }).has("deny:evil.example", "https://a.example key")).toBe(false);
  expect(createDeclarations().has("deny:evil.example", "https://a.example key2")).toBe(false);
});

it("shares declarations between processes with different parents", () => {
  const declarations = createDeclarations();
  const other = createDeclarations({ parentPid: process.pid });
  other.shareManagedIds(["ade_1"]);
  expect(declarations.isManagedElsewhere("ade_1")).toBe(true);
  declarations.declare(["deny:evil.example"], "tenant");
  expect(other.has("deny:evil.example", "tenant")).toBe(true);
  expect(createDeclarations({ runId: "2", parentPid: process.pid }).has("deny:evil.example", "tenant")).toBe(false);
});

it("recreates a shared file that another process removed", () => {
  const declarations = createDeclarations();
  const other = createDeclarations();
  declarations.shareManagedIds(["ade_1"]);
  for (const name of readdirSync(directory)) rmSync(join(directory, name));
  declarations.shareManagedIds(["ade_2"]);
  expect(other.isManagedElsewhere("ade_2")).toBe(true);
});

it.runIf(process.platform === "linux")("opens its file once for a series of writes", async () => {
  const countDescriptors = (): number => readdirSync("/proc/self/fd").length;
  vi.useFakeTimers();
  try {
    const before = countDescriptors();
    const declarations = createDeclarations();
    for (let index = 0; index < 10; index++) declarations.shareManagedIds([`ade_${index}`]);
    // The directory stays open.
    expect(countDescriptors() - before).toBeLessThanOrEqual(2);
    const opened = countDescriptors();
    vi.advanceTimersByTime(1_000);
    expect(opened - countDescriptors()).toBe(1);
    declarations.shareManagedIds(["ade_more"]);
    expect([countDescriptors(), createDeclarations().isManagedElsewhere("ade_more")]).toEqual([opened, true]);
  } finally {
    vi.useRealTimers();
  }
});

it("writes only hashes", () => {
  createDeclarations().declare(["deny:evil.example"], "https://a.example canary-key");
  const [name = ""] = readdirSync(directory);
  expect(`${name}${readFileSync(join(directory, name), "utf8")}`).not.toMatch(/evil|canary|https/);
});

it("remembers its own declarations without a writable directory or known tenant", () => {
  const file = join(directory, "no-directory");
  writeFileSync(file, "");
  const alone = createDeclarations({ directories: [{ parent: file, name: "below" }] });
  alone.declare(["deny:evil.example"], "tenant");
  expect(alone.has("deny:evil.example", "tenant")).toBe(true);
  alone.declare(["deny:later.example"], undefined);
  expect(alone.has("deny:later.example", "tenant")).toBe(true);
});

it("shares managed ids only with other processes of the run", () => {
  const declarations = createDeclarations();
  const other = createDeclarations();
  declarations.shareManagedIds(["ade_1"]);
  expect([declarations.isManagedElsewhere("ade_1"), other.isManagedElsewhere("ade_1")]).toEqual([false, true]);
  expect(other.isManagedElsewhere("ade_2")).toBe(false);
  expect(createDeclarations({ runId: "2" }).isManagedElsewhere("ade_1")).toBe(false);
});

it("falls back to the next directory when the first is not writable", () => {
  const file = join(directory, `${process.pid}-in-the-way`);
  writeFileSync(file, "");
  const directories = [{ parent: file, name: "below" }, place];
  createDeclarations({ directories }).shareManagedIds(["ade_1"]);
  expect(createDeclarations({ directories }).isManagedElsewhere("ade_1")).toBe(true);
});

it("removes only files of ended runs and old files", () => {
  const { pid: over } = spawnSync(process.execPath, ["--version"]);
  const old = new Date(Date.now() - 8 * 86_400_000);
  const files = {
    left: `${over}-${getMachineId()}-left`,
    running: `${process.pid}-${getMachineId()}-running`,
    elsewhere: `${over}-000000-elsewhere`,
    oldElsewhere: `${process.pid}-000000-old`,
  };
  for (const name of Object.values(files)) writeFileSync(join(directory, name), "x\n");
  utimesSync(join(directory, files.oldElsewhere), old, old);
  createDeclarations().declare(["deny:evil.example"], "tenant");
  const leftoverFiles = readdirSync(directory).filter((name) => Object.values(files).includes(name));
  expect(leftoverFiles.sort()).toEqual([files.elsewhere, files.running].sort());
});

describe.skipIf(process.getuid === undefined)("unsafe shared directory", () => {
  const planted: Readonly<Record<string, (own: string) => void>> = {
    "is a link": (own) => symlinkSync(own, join(directory, "shared")),
    "is a link to nothing": (own) => symlinkSync(join(own, "nothing"), join(directory, "shared")),
    "is a file": () => writeFileSync(join(directory, "shared"), ""),
    "is open to all": () => {
      mkdirSync(join(directory, "shared"));
      chmodSync(join(directory, "shared"), 0o777);
    },
    "is open to a group": () => {
      mkdirSync(join(directory, "shared"));
      chmodSync(join(directory, "shared"), 0o770);
    },
    ...(process.getuid?.() === 0 && {
      "belongs to another user": () => {
        mkdirSync(join(directory, "shared"), { mode: 0o700 });
        chownSync(join(directory, "shared"), 4711, 4711);
      },
      "is below another user's": () => chownSync(directory, 4711, 4711),
    }),
  };

  it.each(Object.keys(planted))("stays untouched when it %s", (failure) => {
    const own = join(directory, "own");
    mkdirSync(own, { mode: 0o700 });
    writeFileSync(join(own, "1-precious"), "x\n");
    planted[failure]?.(own);
    const before = listTree(directory);
    const directories = [{ parent: directory, name: "shared" }];
    createDeclarations({ directories }).shareManagedIds(["ade_1"]);
    expect(createDeclarations({ directories }).isManagedElsewhere("ade_1")).toBe(false);
    expect(listTree(directory)).toEqual(before);
  });

  it("is skipped in favor of the next directory", () => {
    symlinkSync(tmpdir(), join(directory, "shared"));
    const directories = [
      { parent: directory, name: "shared" },
      { parent: directory, name: "next" },
    ];
    createDeclarations({ directories }).shareManagedIds(["ade_1"]);
    expect(createDeclarations({ directories }).isManagedElsewhere("ade_1")).toBe(true);
    expect(statSync(join(directory, "next")).mode & 0o777).toBe(0o700);
  });
});

/** Returns all names below a directory, sorted. */
function listTree(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: "utf8" }).sort();
}

it.runIf(process.platform === "linux")("leaves no file, descriptor or listener after a run ends", () => {
  const countDescriptors = (): number => readdirSync("/proc/self/fd").length;
  const before = countDescriptors();
  const listenerCount = process.listenerCount("exit");
  for (let run = 0; run < 20; run++) {
    const declarations = createDeclarations();
    declarations.declare(["deny:evil.example"], "tenant");
    declarations.shareManagedIds(["ade_1"]);
    expect(readdirSync(directory)).toHaveLength(2);
    declarations.end();
    declarations.end();
    declarations.shareManagedIds(["ade_2"]);
    expect([declarations.has("deny:good.example", "tenant"), declarations.isManagedElsewhere("ade_3")]).toEqual([
      false,
      false,
    ]);
  }
  expect([readdirSync(directory), countDescriptors()]).toEqual([[], before]);
  expect(process.listenerCount("exit") - listenerCount).toBeLessThanOrEqual(1);
  expect(createDeclarations().isManagedElsewhere("ade_1")).toBe(false);
});

function createDeclarations(options: Partial<SharingOptions> = {}): Declarations {
  return new Declarations({ directories: [place], runId: "1", parentPid: process.ppid, ...options });
}
