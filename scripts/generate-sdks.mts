import { execFile } from "node:child_process";
import { copyFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { requireEngine } from "pulumi-email-security/engine";
import { completeSdks } from "#scripts/complete-sdks";
import { buildGoProgram } from "#scripts/go-program";

const run = promisify(execFile);

/** The languages of the SDKs, by Pulumi's names. */
export const SDK_LANGUAGES = ["nodejs", "python", "go", "dotnet", "java"] as const;

/**
 * Generates the SDKs of the native plugin with `pulumi package gen-sdk`. The output is reproducible.
 *
 * @param schemaFile the plugin's schema, as JSON
 * @param directory receives a subdirectory for each language. Existing ones are replaced; other files stay.
 */
export async function generateSdks(schemaFile: string, directory: string): Promise<void> {
  const engine = await requireEngine();
  const temporaryDirectory = await mkdtemp(join(tmpdir(), "email-security-sdks-"));
  try {
    for (const language of SDK_LANGUAGES) await installGenerator(language, temporaryDirectory);
    const environment = engine.environment();
    const path = Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
    const env = {
      ...environment,
      [path]: [temporaryDirectory, environment[path]].join(delimiter),
      PULUMI_HOME: join(temporaryDirectory, "home"),
      PULUMI_IGNORE_AMBIENT_PLUGINS: "false",
      SDK_LOGO: resolve("docs/public/logo.png"),
    };
    for (const language of SDK_LANGUAGES) {
      const args = ["package", "gen-sdk", resolve(schemaFile), "--language", language, "--out", "generated"];
      await run(engine.command, [...args, "--color", "never"], { cwd: temporaryDirectory, env });
    }
    for (const language of SDK_LANGUAGES) {
      await rm(join(directory, language), { recursive: true, force: true });
      await cp(join(temporaryDirectory, "generated", language), join(directory, language), { recursive: true });
    }
    await completeSdks(schemaFile, directory);
  } finally {
    await rm(temporaryDirectory, { recursive: true, force: true });
  }
}

/**
 * Installs Pulumi's SDK generator into a directory, under the name of a language host. The CLI finds it if the directory is
 * first on PATH. The generator can't run programs; see `sdk-languages/`.
 */
export async function installGenerator(language: (typeof SDK_LANGUAGES)[number], directory: string): Promise<void> {
  // The program chooses its language by the name it is started with.
  const name = `pulumi-language-${language}${process.platform === "win32" ? ".exe" : ""}`;
  await copyFile(await buildSdkGenerator(), join(directory, name));
}

/** Returns the program with Pulumi's generators; builds it if it is missing. */
export async function buildSdkGenerator(): Promise<string> {
  return await buildGoProgram({
    name: "pulumi-language-generator",
    directory: join(dirname(fileURLToPath(import.meta.url)), "sdk-languages"),
  });
}
