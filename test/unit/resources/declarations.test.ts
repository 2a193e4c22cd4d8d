import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Declarations, type DeclarationsOptions } from "../../../provider/resources/declarations";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "email-security-declared-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it("shares what is declared among the processes of a run and a tenant, and with no other", () => {
  const one = declarations();
  one.declare(["deny:evil.example"], "https://a.example key");
  const other = declarations();
  expect(other.has("deny:evil.example", "https://a.example key")).toBe(true);
  expect(other.has("deny:good.example", "https://a.example key")).toBe(false);
  one.declare(["deny:good.example"], "https://a.example key");
  expect(other.has("deny:good.example", "https://a.example key")).toBe(true);
  expect(declarations({ run: "2" }).has("deny:evil.example", "https://a.example key")).toBe(false);
  expect(declarations().has("deny:evil.example", "https://a.example key2")).toBe(false);
});

it("shares it with those that another process started, as the launchers of Pulumi's are shells of their own", () => {
  const one = declarations();
  const other = declarations({ parent: process.pid });
  other.hold(["ade_1"]);
  expect(one.isHeldElsewhere("ade_1")).toBe(true);
  one.declare(["deny:evil.example"], "tenant");
  expect(other.has("deny:evil.example", "tenant")).toBe(true);
  expect(declarations({ run: "2", parent: process.pid }).has("deny:evil.example", "tenant")).toBe(false);
});

it("writes hashes only", () => {
  declarations().declare(["deny:evil.example"], "https://a.example canary-key");
  const [name = ""] = readdirSync(folder);
  expect(`${name}${readFileSync(join(folder, name), "utf8")}`).not.toMatch(/evil|canary|https/);
});

it("knows its own where nothing can be written, and where the tenant is not known yet", () => {
  const file = join(folder, "no-folder");
  writeFileSync(file, "");
  const alone = declarations({ folders: [join(file, "below")] });
  alone.declare(["deny:evil.example"], "tenant");
  expect(alone.has("deny:evil.example", "tenant")).toBe(true);
  alone.declare(["deny:later.example"], undefined);
  expect(alone.has("deny:later.example", "tenant")).toBe(true);
});

it("tells the other processes of a run what one has made or taken over, whatever key or address they have", () => {
  const one = declarations();
  const other = declarations();
  one.hold(["ade_1"]);
  expect([one.isHeldElsewhere("ade_1"), other.isHeldElsewhere("ade_1")]).toEqual([false, true]);
  expect(other.isHeldElsewhere("ade_2")).toBe(false);
  expect(declarations({ run: "2" }).isHeldElsewhere("ade_1")).toBe(false);
});

it("takes the next folder where the first can't be written to", () => {
  const file = join(folder, `${process.pid}-in-the-way`);
  writeFileSync(file, "");
  const folders = [join(file, "below"), folder];
  declarations({ folders }).hold(["ade_1"]);
  expect(declarations({ folders }).isHeldElsewhere("ade_1")).toBe(true);
});

it("takes away what runs have left that are over, and no other", () => {
  const { pid: over } = spawnSync(process.execPath, ["--version"]);
  writeFileSync(join(folder, `${over}-left`), "x\n");
  writeFileSync(join(folder, `${process.pid}-running`), "x\n");
  declarations().declare(["deny:evil.example"], "tenant");
  expect(readdirSync(folder)).toContain(`${process.pid}-running`);
  expect(readdirSync(folder)).not.toContain(`${over}-left`);
});

function declarations(options: Partial<DeclarationsOptions> = {}): Declarations {
  return new Declarations({ folders: [folder], run: "1", parent: process.ppid, ...options });
}
