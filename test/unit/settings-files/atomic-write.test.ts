import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeDirectoryFiles, writeFiles, writeSettings } from "../../../provider/settings-files/atomic-write";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

let testDirectory: TestDirectory;
let directory: string;
beforeEach(() => {
  testDirectory = createTestDirectory({});
  directory = testDirectory.path;
});
afterEach(() => testDirectory[Symbol.dispose]());

describe("writeSettings", () => {
  it("keeps the mode of a replaced file", () => {
    const path = join(directory, "acme.yaml");
    writeFileSync(path, "old");
    chmodSync(path, 0o640);
    writeSettings(path, "new ü");
    expect(readFileSync(path, "utf8")).toBe("new ü");
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(directory)).toEqual(["acme.yaml"]);
  });

  it("writes to the target of a symlink", () => {
    const [path, link] = [join(directory, "acme.yaml"), join(directory, "link.yaml")];
    writeFileSync(path, "old");
    symlinkSync("acme.yaml", link);
    writeSettings(link, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(readdirSync(directory)).toEqual(["acme.yaml", "link.yaml"]);
  });

  it("refuses a file with hard links", () => {
    const [path, other] = [join(directory, "acme.yaml"), join(directory, "other.yaml")];
    writeFileSync(path, "old");
    linkSync(path, other);
    symlinkSync("other.yaml", join(directory, "link.yaml"));
    const refusal = /acme.yaml" has another name \(hard link\).*cp -p.*It is unchanged/s;
    expect(() => writeSettings(path, "new")).toThrow(refusal);
    expect(() => writeFiles(new Map([[path, "new"]]))).toThrow(refusal);
    expect(() => writeDirectoryFiles(directory, new Map([["acme.yaml", "new"]]))).toThrow(/hard link/);
    expect(() => writeSettings(join(directory, "link.yaml"), "new")).toThrow(/other.yaml" has another name/);
    expect([path, other].map((item) => readFileSync(item, "utf8"))).toEqual(["old", "old"]);
    writeFiles(new Map([[path, undefined]]));
    writeSettings(other, "new");
    expect(readdirSync(directory)).toEqual(["link.yaml", "other.yaml"]);
    expect(readFileSync(other, "utf8")).toBe("new");
  });

  it("leaves nothing behind when writing fails", () => {
    const path = join(directory, "acme.yaml");
    mkdirSync(path);
    expect(() => writeSettings(path, "new")).toThrow(expect.objectContaining({ code: "ERR_SETTINGS_WRITE" }));
    expect(readdirSync(directory)).toEqual(["acme.yaml"]);
    expect(() => writeSettings(join(directory, "none", "acme.yaml"), "new")).toThrow(
      /none\/acme.yaml" can't be written/,
    );
  });
});

describe("writeDirectoryFiles", () => {
  it("overwrites existing files", () => {
    const path = join(directory, "a", "b");
    writeDirectoryFiles(path, new Map([["one.yaml", "1"]]));
    writeDirectoryFiles(
      path,
      new Map([
        ["one.yaml", "11"],
        ["two.yaml", "2"],
      ]),
    );
    expect(readdirSync(path)).toEqual(["one.yaml", "two.yaml"]);
    expect(readFileSync(join(path, "one.yaml"), "utf8")).toBe("11");
  });

  it("changes nothing in the directory when one file can't be written", () => {
    writeFileSync(join(directory, "one.yaml"), "old");
    mkdirSync(join(directory, "two.yaml"));
    const files = new Map([
      ["new.yaml", "0"],
      ["one.yaml", "1"],
      ["two.yaml", "2"],
    ]);
    expect(() => writeDirectoryFiles(directory, files)).toThrow(
      expect.objectContaining({ code: "ERR_SETTINGS_WRITE" }),
    );
    expect(readdirSync(directory)).toEqual(["one.yaml", "two.yaml"]);
    expect(readFileSync(join(directory, "one.yaml"), "utf8")).toBe("old");
  });

  it("removes directories it created when writing fails", () => {
    const files = new Map([
      ["one.yaml", "1"],
      ["x".repeat(300), "2"],
    ]);
    expect(() => writeDirectoryFiles(join(directory, "a", "b"), files)).toThrow(/can't be written/);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe("writeFiles", () => {
  it("creates, changes and deletes files", () => {
    const [one, two, three] = [
      join(directory, "a", "one.yaml"),
      join(directory, "two.yaml"),
      join(directory, "three.yaml"),
    ];
    writeFileSync(two, "old");
    writeFileSync(three, "old");
    writeFiles(
      new Map([
        [one, "1"],
        [two, "2"],
        [three, undefined],
      ]),
    );
    expect(readdirSync(directory).sort()).toEqual(["a", "two.yaml"]);
    expect([one, two].map((path) => readFileSync(path, "utf8"))).toEqual(["1", "2"]);
  });

  it("changes no file when one can't be written", () => {
    const missingPath = join(directory, "gone.yaml");
    writeFileSync(missingPath, "old");
    mkdirSync(join(directory, "taken.yaml"));
    const files = new Map([
      [missingPath, undefined],
      [join(directory, "a", "new.yaml"), "0"],
      [join(directory, "taken.yaml"), "1"],
    ]);
    expect(() => writeFiles(files)).toThrow(expect.objectContaining({ code: "ERR_SETTINGS_WRITE" }));
    expect(readdirSync(directory).sort()).toEqual(["gone.yaml", "taken.yaml"]);
    expect(readFileSync(missingPath, "utf8")).toBe("old");
  });
});
