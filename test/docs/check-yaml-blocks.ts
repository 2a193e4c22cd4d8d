import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { parse } from "yaml";
import { readTargets } from "../../provider/rollout/targets/read-targets";
import { lintSettings } from "../../provider/settings-files/lint";
import { collectFilesUpTo, type Fence, type FencedFile, type Problem } from "./fences";

/** The date at which blocks are checked, so that entries with an expiry date stay valid. */
const TODAY = "2026-11-21";

/** The output of `email-security init`, which pages build on. */
const TEMPLATE = "examples/gitops";

/** The parts of a tenants file that a block may omit. */
const TENANTS_FILE_DEFAULTS = {
  version: "version: 1",
  project: "project: email-security",
  tenants:
    "tenants:\n  acme: { baseUrl: 'https://mail.example', key: { environment: ACME_KEY }, settings: settings/acme.yaml }",
};

/** Returns the errors that the real readers report in the settings and tenants files that a page shows. */
export function checkYamlBlocks(file: FencedFile): Problem[] {
  return file.fences.flatMap((fence) => {
    const message = findProblem(file, fence);
    return message === undefined ? [] : [{ path: fence.path, line: fence.line, message }];
  });
}

function findProblem(page: FencedFile, fence: Fence): string | undefined {
  const { language, annotation, file, isLeftOut } = fence;
  if (language !== "yaml" || isLeftOut) return undefined;
  const name = file === undefined ? annotation : normalize(file).replaceAll("\\", "/");
  if (name === "settings" || /(^|\/)settings\/[^/]+\.yaml$/.test(name)) return findSettingsProblem(page, fence);
  if (name === "tenants" || /(^|\/)tenants\.yaml$/.test(name)) return findTargetsProblem(page, fence);
  return undefined;
}

function findSettingsProblem(page: FencedFile, fence: Fence): string | undefined {
  const name = fence.file ?? "settings/shown.yaml";
  const files = collectFilesUpTo(page, fence).set(name, completeBlock(fence, { version: "version: 1" }));
  const { findings } = lintSettings(name, {
    today: TODAY,
    readFile: (path) => files.get(path.replaceAll("\\", "/")) ?? readTemplate(path),
  });
  const errors = findings.filter(({ level }) => level === "error");
  if (errors.length === 0) return undefined;
  return errors.map(({ message, place }) => `line ${place?.line ?? 1} of the block: ${message}`).join("\n");
}

/** Returns a file that the page doesn't show: as `init` writes it, or one that declares nothing. */
function readTemplate(path: string): string {
  const template = join(TEMPLATE, path);
  return existsSync(template) ? readFileSync(template, "utf8") : "version: 1\n";
}

function findTargetsProblem(page: FencedFile, fence: Fence): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "email-security-block-"));
  try {
    for (const [name, text] of collectFilesUpTo(page, fence)) {
      if (/^[\w-]+\.yaml$/.test(name)) writeFileSync(join(directory, name), text);
    }
    const file = join(directory, "tenants.yaml");
    writeFileSync(file, completeBlock(fence, TENANTS_FILE_DEFAULTS));
    readTargets(file);
    return undefined;
  } catch (error) {
    return (error as Error).message.replaceAll(`${directory}/`, "");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Completes a block with the parts that it omits. They go to the end, to preserve line numbers. A named block is
 * already complete.
 */
function completeBlock({ text, file }: Fence, rest: Readonly<Record<string, string>>): string {
  if (file !== undefined) return text;
  const document = (parse(text) ?? {}) as Record<string, unknown>;
  const missing = Object.entries(rest).filter(([key]) => !(key in document));
  return [text, ...missing.map(([, lines]) => lines), ""].join("\n");
}
