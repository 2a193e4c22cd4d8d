import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeTornAttributes, type StackFiles, tornState } from "../../../provider/rollout/torn-files";

let folder: string;
let stacks: string;
let files: StackFiles;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "email-security-torn it's-"));
  stacks = join(folder, ".pulumi/stacks/p");
  mkdirSync(stacks, { recursive: true });
  files = { backend: `file://${folder}?no_tmp_dir=true`, project: "p", stack: "t0" };
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const lay = (name: string, text: string): void => writeFileSync(join(stacks, name), text);

it("takes away attributes that are cut off, of this stack alone, and nothing else", () => {
  const torn = ["t0.json.attrs", "t0.json.gz.attrs", "t0.pulumi-tags.attrs"];
  const others = ["t0.json", "t0.json.bak.attrs", "t0.json.zst.attrs", "t0.json.18ab.tmp", "t01.json.attrs"];
  for (const [at, name] of torn.entries()) lay(name, '{"md5":"x'.slice(0, at * 3));
  for (const name of others) lay(name, name.endsWith("zst.attrs") ? '{"md5":"x"}' : "");
  writeFileSync(join(folder, ".pulumi/meta.yaml.attrs"), "");
  expect(removeTornAttributes(files)).toHaveLength(4);
  expect(readdirSync(stacks).sort()).toEqual(others.sort());
  expect(removeTornAttributes(files)).toEqual([]);
});

it("looks at no backend but one of files", () => {
  lay("t0.json.attrs", "");
  for (const backend of [undefined, "s3://states", "https://pulumi.example", "postgres://u:p@db/states"])
    expect(removeTornAttributes({ ...files, backend })).toEqual([]);
});

it("tells of a state that is cut off where the one before it is, if there is one", () => {
  expect(tornState(files)).toBeUndefined();
  lay("t0.json", "{}");
  expect(tornState(files)).toBeUndefined();
  lay("t0.json", '{"version":3,"che');
  expect(tornState(files)).toMatch(/There is none before it.*after `rm '.*it'\\''s-.*t0\.json'`$/);
  lay("t0.json.bak", "{}");
  expect(tornState(files)).toMatch(
    /The state before it is whole: take it with `cp '.*t0\.json\.bak' '.*t0\.json'`$/,
  );
});
