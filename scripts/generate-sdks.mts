import { execFile } from "node:child_process";
import { appendFile, copyFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ensureEngine } from "pulumi-email-security/engine";
import { goProgram } from "#scripts/go-program";

const run = promisify(execFile);

/** The languages that programs over the native plugin are written in, by Pulumi's names of them. */
export const SDK_LANGUAGES = ["nodejs", "python", "go", "dotnet", "java"] as const;

/**
 * Generates the SDKs of the native plugin with `pulumi package gen-sdk`. The same schema gives the same files.
 *
 * @param schemaFile the plugin's schema, as JSON
 * @param folder gets a folder a language. What was in those is gone then; the rest of it stays.
 */
export async function generateSdks(schemaFile: string, folder: string): Promise<void> {
  const engine = await ensureEngine();
  const scratch = await mkdtemp(join(tmpdir(), "email-security-sdks-"));
  try {
    for (const language of SDK_LANGUAGES) await placeGenerator(language, scratch);
    const environment = engine.environment();
    const path = Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
    const env = {
      ...environment,
      [path]: [scratch, environment[path]].join(delimiter),
      PULUMI_HOME: join(scratch, "home"),
      PULUMI_IGNORE_AMBIENT_PLUGINS: "false",
      SDK_LOGO: resolve("docs/public/logo.png"),
    };
    for (const language of SDK_LANGUAGES) {
      const args = ["package", "gen-sdk", resolve(schemaFile), "--language", language, "--out", "made"];
      await run(engine.command, [...args, "--color", "never"], { cwd: scratch, env });
    }
    for (const language of SDK_LANGUAGES) {
      await rm(join(folder, language), { recursive: true, force: true });
      await cp(join(scratch, "made", language), join(folder, language), { recursive: true });
    }
    await refuseUnknownNames(join(folder, "nodejs"));
    // Where pyproject.toml names it.
    const python = join(folder, "python");
    await copyFile(join(python, "pulumi_email_security", "README.md"), join(python, "README.md"));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Puts Pulumi's generators into a folder, as the language host that the CLI finds where the folder is first on PATH. It
 * generates packages and programs, and does nothing else: see the program itself.
 */
export async function placeGenerator(
  language: (typeof SDK_LANGUAGES)[number],
  folder: string,
): Promise<void> {
  const generator = await goProgram({
    name: "pulumi-language-generator",
    folder: join(dirname(fileURLToPath(import.meta.url)), "sdk-languages"),
  });
  // The program goes by the name it is started under.
  const name = `pulumi-language-${language}${process.platform === "win32" ? ".exe" : ""}`;
  await copyFile(generator, join(folder, name));
}

/** Where the arguments begin to be taken, in a class and in a function. */
const TAKING = /^( +)(?:let resourceInputs: pulumi\.Inputs = \{\};|opts = .*opts \|\| \{\}\);)$/gm;

/**
 * The SDK for Node.js passes over what is no argument, which in a program without types is a slip, and no plugin sees. So its
 * classes and functions are made to ask, before they take what they know.
 */
async function refuseUnknownNames(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".ts")) continue;
    const file = join(folder, name);
    const text = await readFile(file, "utf8");
    const known = [
      ...new Set([...text.matchAll(/\bargs\??\.(\w+)/g)].map(([, argument]) => argument)),
    ].sort();
    if (known.length === 0) continue;
    const [, what] = /^export (?:class|function) (\w+)/m.exec(text) ?? [];
    const asking = text.replace(
      TAKING,
      (taking, indent: string) =>
        `${indent}utilities.refuseUnknownNames(${JSON.stringify(what)}, args, ${JSON.stringify(known)});\n${taking}`,
    );
    if (asking === text) throw new Error(`${file} takes arguments in another way than is known.`);
    await writeFile(file, asking);
  }
  await appendFile(join(folder, "utilities.ts"), ASKING);
}

const ASKING = `
/** @internal */
export function refuseUnknownNames(what: string, args: any, known: string[]): void {
    // In the package, beside this SDK.
    require("../resources/known-names").refuseUnknownNames(what, args, known);
}
`;
