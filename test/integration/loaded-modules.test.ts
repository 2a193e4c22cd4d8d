import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { expect, it } from "vitest";

const load = createRequire(join(process.cwd(), "test", "program.cjs"));
const dist = dirname(load.resolve("pulumi-email-security"));

function runNode(...args: readonly string[]): string[][] {
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as string[][];
}

/** Splits loaded files into the package's own files and the names of its dependencies. */
function splitLoadedFiles(files: readonly string[]): { readonly own: readonly string[]; readonly others: string[] } {
  const own = files.filter((file) => file.startsWith(dist + sep));
  const others = files.flatMap((file) => /.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1] ?? []);
  return {
    own: own.map((file) => relative(dist, file).replaceAll(sep, "/")),
    others: [...new Set(others)].sort(),
  };
}

it("loads only the modules of the package that a program uses", () => {
  const program = `
    let before = new Set((require("@pulumi/pulumi"), Object.keys(require.cache)));
    const loaded = ["AllowDenyEntry", "AllowDenyList"].map((name) => {
      if (typeof require("pulumi-email-security")[name] !== "function") throw new Error(name);
      return Object.keys(require.cache).filter((file) => !before.has(file));
    });
    console.log(JSON.stringify(loaded));`;
  const [entry, list] = runNode("--eval", program).map(splitLoadedFiles);
  // The error classes use the response classification to tell whom a failure concerns.
  const isOfOtherUse = (file: string): boolean =>
    /^(client\/(?!errors|response-classification|retry-after)|files|gitops|plan|tenant)/.test(file);

  expect(entry?.own).toContain("resources/allow-deny-entry.js");
  expect(entry?.own).not.toContain("model/arguments.js");
  expect(list?.own).toContain("model/list-arguments.js");
  expect(list?.own.filter(isOfOtherUse)).toEqual([]);
  // The package reads the version of Pulumi's SDK from its package.json.
  expect(entry?.others).toEqual(["@pulumi/pulumi", "leven"]);
  expect(list?.others).toEqual(["@pulumi/pulumi", "ipaddr.js", "leven", "tldts", "zod"]);
});

it("offers every export of the package to ES modules by name", () => {
  const program = `
    import * as all from "pulumi-email-security";
    import { AllowDenyList, AuthenticationError, getThreats, SettingsClient } from "pulumi-email-security";
    console.log(JSON.stringify([
      Object.keys(all).filter((name) => all[name] !== undefined),
      [AllowDenyList, AuthenticationError, getThreats, SettingsClient].map((one) => one.name),
    ]));`;
  const [all, some] = runNode("--input-type=module", "--eval", program);
  const exported = Object.keys(load("pulumi-email-security"));
  expect(all).toEqual(expect.arrayContaining(exported));
  expect(some).toEqual(["AllowDenyList", "AuthenticationError", "getThreats", "SettingsClient"]);
  // The package's entry point lists them by name.
  const functions = Object.keys(load(join(dist, "resources", "functions", "index.js")));
  expect(exported).toEqual(expect.arrayContaining(functions));
});
