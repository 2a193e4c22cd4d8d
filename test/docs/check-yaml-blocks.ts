import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { parse } from "yaml";
import { lintSettings } from "../../provider/files/lint";
import { readTargets } from "../../provider/rollout/targets/read-targets";
import { type Fence, type FencedFile, filesUpTo, type Problem } from "./fences";

/** The date at which blocks are checked, so that entries with an expiry date stay valid. */
const TODAY = "2026-11-21";

/** The output of `email-security init`, which pages build on. */
const TEMPLATE = "examples/gitops";

/** The parts of a tenants file that a block may omit. */
const REST_OF_TENANTS = {
  version: "version: 1",
  project: "project: email-security",
  tenants:
    "tenants:\n  acme: { baseUrl: 'https://mail.example', key: { environment: ACME_KEY }, settings: settings/acme.yaml }",
};

/** Returns the errors that the real readers report in the settings and tenants files that a page shows. */
export function checkYamlBlocks(file: FencedFile): Problem[] {
  return file.fences.flatMap((fence) => {
    const message = refusal(file, fence);
    return message === undefined ? [] : [{ path: fence.path, line: fence.line, message }];
  });
}

function refusal(page: FencedFile, fence: Fence): string | undefined {
  const { language, about, file, isLeftOut } = fence;
  if (language !== "yaml" || isLeftOut) return undefined;
  const name = file === undefined ? about : normalize(file).replaceAll("\\", "/");
  if (name === "settings" || /(^|\/)settings\/[^/]+\.yaml$/.test(name)) return settingsRefusal(page, fence);
  if (name === "tenants" || /(^|\/)tenants\.yaml$/.test(name)) return tenantsRefusal(page, fence);
  return undefined;
}

function settingsRefusal(page: FencedFile, fence: Fence): string | undefined {
  const name = fence.file ?? "settings/shown.yaml";
  const files = filesUpTo(page, fence).set(name, whole(fence, { version: "version: 1" }));
  const { findings } = lintSettings(name, {
    today: TODAY,
    readFile: (path) => files.get(path.replaceAll("\\", "/")) ?? elsewhere(path),
  });
  const errors = findings.filter(({ level }) => level === "error");
  if (errors.length === 0) return undefined;
  return errors.map(({ message, place }) => `line ${place?.line ?? 1} of the block: ${message}`).join("\n");
}

/** Returns a file that the page doesn't show: as `init` writes it, or one that declares nothing. */
function elsewhere(path: string): string {
  const template = join(TEMPLATE, path);
  return existsSync(template) ? readFileSync(template, "utf8") : "version: 1\n";
}

function tenantsRefusal(page: FencedFile, fence: Fence): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "email-security-block-"));
  try {
    for (const [name, text] of filesUpTo(page, fence)) {
      if (/^[\w-]+\.yaml$/.test(name)) writeFileSync(join(directory, name), text);
    }
    const file = join(directory, "tenants.yaml");
    writeFileSync(file, whole(fence, REST_OF_TENANTS));
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
function whole({ text, file }: Fence, rest: Readonly<Record<string, string>>): string {
  if (file !== undefined) return text;
  const shown = (parse(text) ?? {}) as Record<string, unknown>;
  const missing = Object.entries(rest).filter(([key]) => !(key in shown));
  return [text, ...missing.map(([, lines]) => lines), ""].join("\n");
}
