import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";

describe("the npm package", () => {
  it("is published without build info or engine build files", () => {
    const args = [
      "pack",
      "--dry-run",
      "--json",
      "--foreground-scripts=false",
      "--workspace=provider",
      "--loglevel=error",
    ];
    const output = execFileSync("npm", args, { encoding: "utf8", shell: process.platform === "win32" });
    const [packed]: { files: { path: string }[] }[] = Object.values(JSON.parse(output));
    const files = packed?.files.map(({ path }) => path);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "dist/engine/index.js", "dist/engine/lock.js"]));
    expect(files?.filter((path) => /go\.(mod|sum)$|build-engine/.test(path))).toEqual([]);
    // The program in the template of `init` isn't a source file of the package.
    const sources = files?.filter((path) => /tsbuildinfo|(?<!\.d)\.ts$/.test(path));
    expect(sources).toEqual(["dist/commands/init/template/index.ts"]);
  });
});
