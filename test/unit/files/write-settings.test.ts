import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeDirectoryFiles, writeFiles, writeSettings } from "../../../provider/files/write-settings";
import { type SettingsFolder, settingsFolder } from "../../support/settings-folder";

let made: SettingsFolder;
let folder: string;
beforeEach(() => {
  made = settingsFolder({});
  folder = made.path;
});
afterEach(() => made[Symbol.dispose]());

describe("writeSettings", () => {
  it("replaces a file and keeps its mode", () => {
    const path = join(folder, "acme.yaml");
    writeFileSync(path, "old");
    chmodSync(path, 0o640);
    writeSettings(path, "new ü");
    expect(readFileSync(path, "utf8")).toBe("new ü");
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder)).toEqual(["acme.yaml"]);
  });

  it("writes to the target of a symlink", () => {
    const [path, link] = [join(folder, "acme.yaml"), join(folder, "link.yaml")];
    writeFileSync(path, "old");
    symlinkSync("acme.yaml", link);
    writeSettings(link, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(readdirSync(folder)).toEqual(["acme.yaml", "link.yaml"]);
  });

  it("leaves nothing behind when writing fails", () => {
    const path = join(folder, "acme.yaml");
    mkdirSync(path);
    expect(() => writeSettings(path, "new")).toThrow(expect.objectContaining({ code: "ERR_SETTINGS_WRITE" }));
    expect(readdirSync(folder)).toEqual(["acme.yaml"]);
    expect(() => writeSettings(join(folder, "none", "acme.yaml"), "new")).toThrow(/none\/acme.yaml" can't be written/);
  });
});

describe("writeDirectoryFiles", () => {
  it("creates the directory and overwrites existing files", () => {
    const path = join(folder, "a", "b");
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

  it("changes nothing when one file can't be written", () => {
    writeFileSync(join(folder, "one.yaml"), "old");
    mkdirSync(join(folder, "two.yaml"));
    const files = new Map([
      ["new.yaml", "0"],
      ["one.yaml", "1"],
      ["two.yaml", "2"],
    ]);
    expect(() => writeDirectoryFiles(folder, files)).toThrow(expect.objectContaining({ code: "ERR_SETTINGS_WRITE" }));
    expect(readdirSync(folder)).toEqual(["one.yaml", "two.yaml"]);
    expect(readFileSync(join(folder, "one.yaml"), "utf8")).toBe("old");
  });

  it("removes directories it created when writing fails", () => {
    const files = new Map([
      ["one.yaml", "1"],
      ["none/two.yaml", "2"],
    ]);
    expect(() => writeDirectoryFiles(join(folder, "a", "b"), files)).toThrow(/can't be written/);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("writeFiles", () => {
  it("creates, changes and deletes files", () => {
    const [one, two, three] = [join(folder, "a", "one.yaml"), join(folder, "two.yaml"), join(folder, "three.yaml")];
    writeFileSync(two, "old");
    writeFileSync(three, "old");
    writeFiles(
      new Map([
        [one, "1"],
        [two, "2"],
        [three, undefined],
      ]),
    );
    expect(readdirSync(folder).sort()).toEqual(["a", "two.yaml"]);
    expect([one, two].map((path) => readFileSync(path, "utf8"))).toEqual(["1", "2"]);
  });

  it("changes nothing when one file can't be written", () => {
    const gone = join(folder, "gone.yaml");
    writeFileSync(gone, "old");
    mkdirSync(join(folder, "taken.yaml"));
    const files = new Map([
      [gone, undefined],
      [join(folder, "a", "new.yaml"), "0"],
      [join(folder, "taken.yaml"), "1"],
    ]);
    expect(() => writeFiles(files)).toThrow(expect.objectContaining({ code: "ERR_SETTINGS_WRITE" }));
    expect(readdirSync(folder).sort()).toEqual(["gone.yaml", "taken.yaml"]);
    expect(readFileSync(gone, "utf8")).toBe("old");
  });
});
