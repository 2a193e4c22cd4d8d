import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  describeTruncatedState,
  removeTemporaryFiles,
  removeTruncatedAttributes,
  replaceTruncatedStates,
  type StackFiles,
} from "../../../../provider/rollout/stack/repair-file-backend";

let directory: string;
let stacks: string;
let files: StackFiles;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-torn it's-"));
  stacks = join(directory, ".pulumi/stacks/p");
  mkdirSync(stacks, { recursive: true });
  files = { backend: `file://${directory}?no_tmp_dir=true`, project: "p", stack: "t0" };
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const writeStackFile = (name: string, text: string): void => writeFileSync(join(stacks, name), text);

it("removes only truncated attribute files of its own stack", () => {
  const torn = ["t0.json.attrs", "t0.json.gz.attrs", "t0.pulumi-tags.attrs"];
  const others = ["t0.json", "t0.json.bak.attrs", "t0.json.zst.attrs", "t0.json.18ab.tmp", "t01.json.attrs"];
  for (const [index, name] of torn.entries()) writeStackFile(name, '{"md5":"x'.slice(0, index * 3));
  for (const name of others) writeStackFile(name, name.endsWith("zst.attrs") ? '{"md5":"x"}' : "");
  writeFileSync(join(directory, ".pulumi/meta.yaml.attrs"), "");
  expect(removeTruncatedAttributes(files)).toHaveLength(4);
  expect(readdirSync(stacks).sort()).toEqual(others.sort());
  expect(removeTruncatedAttributes(files)).toEqual([]);
});

/** Writes a stack lock whose owner is on another machine. */
function writeStackLock(stack: string): void {
  const locks = join(directory, ".pulumi/locks/organization/p", stack);
  mkdirSync(locks, { recursive: true });
  const owner = { pid: 1, username: "ci", hostname: "runner-7", timestamp: "2026-01-01T00:00:00Z" };
  writeFileSync(join(locks, "a.json"), JSON.stringify(owner));
}

it("replaces truncated states except of stacks locked elsewhere", () => {
  for (const name of ["t0", "t1", "t2"]) writeStackFile(`${name}.json`, '{"version":3,"che');
  writeStackFile("t1.json.bak", '{"version":3,"checkpoint":{"stack":"t1"}}');
  writeStackLock("t2");
  expect(replaceTruncatedStates({ backend: files.backend, project: "p" })).toHaveLength(2);
  const texts = ["t0", "t1", "t2"].map((name) => readFileSync(join(stacks, `${name}.json`), "utf8"));
  expect(texts).toEqual([
    '{"version":3,"checkpoint":{"stack":"organization/p/t0"}}',
    '{"version":3,"checkpoint":{"stack":"t1"}}',
    '{"version":3,"che',
  ]);
  expect(readdirSync(stacks).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

it("removes temporary state files except of stacks locked elsewhere", async () => {
  for (const name of ["t0.json.18ab.tmp", "t0.json.tmp", "t01.json.tmp", "t2.json.tmp"]) writeStackFile(name, "");
  writeStackLock("t2");
  expect(await removeTemporaryFiles({ ...files, stack: "t2" })).toEqual([]);
  expect(await removeTemporaryFiles(files)).toHaveLength(2);
  expect(readdirSync(stacks).sort()).toEqual(["t01.json.tmp", "t2.json.tmp"]);
});

it("removes only empty or truncated locks", async () => {
  writeStackLock("t0");
  const locks = join(directory, ".pulumi/locks/organization/p/t0");
  writeFileSync(join(locks, "b.json"), "");
  writeFileSync(join(locks, "c.json"), '{"pid":1,"user');
  writeStackFile("t0.json", "");
  expect(replaceTruncatedStates(files)).toEqual([]);
  expect(await removeTemporaryFiles(files)).toEqual([
    expect.stringContaining("b.json"),
    expect.stringContaining("c.json"),
  ]);
  expect(readdirSync(locks)).toEqual(["a.json"]);
  rmSync(join(locks, "a.json"));
  writeFileSync(join(locks, "b.json"), "");
  expect(await removeTemporaryFiles({ backend: files.backend, project: "p" })).toHaveLength(1);
  expect(replaceTruncatedStates(files)).toHaveLength(1);
});

it("ignores backends that aren't file-based", () => {
  writeStackFile("t0.json.attrs", "");
  for (const backend of [undefined, "s3://states", "https://pulumi.example", "postgres://u:p@db/states"])
    expect(removeTruncatedAttributes({ ...files, backend })).toEqual([]);
});

it("explains how to restore a truncated state from its backup", () => {
  expect(describeTruncatedState(files)).toBeUndefined();
  writeStackFile("t0.json", "{}");
  expect(describeTruncatedState(files)).toBeUndefined();
  writeStackFile("t0.json", '{"version":3,"che');
  expect(describeTruncatedState(files)).toMatch(/No earlier copy exists.*after `rm '.*it'\\''s-.*t0\.json'`$/);
  writeStackFile("t0.json.bak", "{}");
  expect(describeTruncatedState(files)).toMatch(
    /The previous state is intact: restore it with `cp '.*t0\.json\.bak' '.*t0\.json'`$/,
  );
});
