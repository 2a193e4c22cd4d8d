import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Declarations } from "../../../provider/resources/declarations";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "email-security-declared-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it("shares what is declared among the processes of a run and a tenant, and with no other", () => {
  const one = new Declarations({ folders: [folder], run: "1" });
  one.declare(["deny:evil.example"], "https://a.example key");
  const other = new Declarations({ folders: [folder], run: "1" });
  expect(other.has("deny:evil.example", "https://a.example key")).toBe(true);
  expect(other.has("deny:good.example", "https://a.example key")).toBe(false);
  one.declare(["deny:good.example"], "https://a.example key");
  expect(other.has("deny:good.example", "https://a.example key")).toBe(true);
  expect(
    new Declarations({ folders: [folder], run: "2" }).has("deny:evil.example", "https://a.example key"),
  ).toBe(false);
  expect(
    new Declarations({ folders: [folder], run: "1" }).has("deny:evil.example", "https://a.example key2"),
  ).toBe(false);
});

it("writes hashes only", () => {
  new Declarations({ folders: [folder], run: "1" }).declare(
    ["deny:evil.example"],
    "https://a.example canary-key",
  );
  const [name = ""] = readdirSync(folder);
  expect(`${name}${readFileSync(join(folder, name), "utf8")}`).not.toMatch(/evil|canary|https/);
});

it("knows its own where nothing can be written, and where the tenant is not known yet", () => {
  const file = join(folder, "no-folder");
  writeFileSync(file, "");
  const alone = new Declarations({ folders: [join(file, "below")], run: "1" });
  alone.declare(["deny:evil.example"], "tenant");
  expect(alone.has("deny:evil.example", "tenant")).toBe(true);
  alone.declare(["deny:later.example"], undefined);
  expect(alone.has("deny:later.example", "tenant")).toBe(true);
});

it("tells the other processes of a run what one has made or taken over, whatever key or address they have", () => {
  const one = new Declarations({ folders: [folder], run: "1" });
  const other = new Declarations({ folders: [folder], run: "1" });
  one.hold("ade_1");
  expect([one.isHeldElsewhere("ade_1"), other.isHeldElsewhere("ade_1")]).toEqual([false, true]);
  expect(other.isHeldElsewhere("ade_2")).toBe(false);
  expect(new Declarations({ folders: [folder], run: "2" }).isHeldElsewhere("ade_1")).toBe(false);
});

it("takes the next folder where the first can't be written to", () => {
  const file = join(folder, `${process.pid}-in-the-way`);
  writeFileSync(file, "");
  const folders = [join(file, "below"), folder];
  new Declarations({ folders, run: "1" }).hold("ade_1");
  expect(new Declarations({ folders, run: "1" }).isHeldElsewhere("ade_1")).toBe(true);
});

it("takes away what runs have left that are over, and no other", () => {
  const { pid: over } = spawnSync(process.execPath, ["--version"]);
  writeFileSync(join(folder, `${over}-left`), "x\n");
  writeFileSync(join(folder, `${process.pid}-running`), "x\n");
  new Declarations({ folders: [folder], run: "1" }).declare(["deny:evil.example"], "tenant");
  expect(readdirSync(folder)).toContain(`${process.pid}-running`);
  expect(readdirSync(folder)).not.toContain(`${over}-left`);
});
