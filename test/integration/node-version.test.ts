import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";

/** Runs a piece of CommonJS as if by an older Node.js. */
function onNode20(code: string): string {
  const old = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });';
  try {
    return execFileSync(process.execPath, ["-e", `${old} ${code}`], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

it.each(["pulumi-email-security", "pulumi-email-security/runtime", "pulumi-email-security/client"])(
  "%s says which Node.js it needs, before anything else fails",
  (name) => {
    expect(onNode20(`require("${name}")`)).toContain("needs Node.js 22.19 or later; this is 20.20.2");
  },
);
