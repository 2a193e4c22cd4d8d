import { spawnSync } from "node:child_process";
import { parseAllDocuments } from "yaml";
import type { Fence, FencedFile, Problem } from "./fences";
import { PLACES } from "./page-blocks";

/** What can stand after `sh`. */
const SHELL = /^(background|fails(=[1-9]\d{0,2})?)?$/;

/** Whose file a nameless block of YAML is. */
const YAML_KINDS = ["settings", "tenants"];

/** Languages whose blocks are checked without a name. */
const CHECKED = ["ts", "json"];

/** What is wrong with the fences of a file, and with what can be told of their texts without a reader of their own. */
export function checkFences(file: FencedFile): Problem[] {
  const { path, frontMatter, fences } = file;
  const isPage = path.startsWith("docs/");
  const problems: Problem[] = [];
  const refuse = (line: number, message: string) => problems.push({ path, line, message });
  const { run } = frontMatter;
  if (run !== undefined && !PLACES.some((one) => one === run)) {
    refuse(1, `"run: ${run}" is not known: write run: ${PLACES.join(", run: ")}, or nothing where no block runs`);
  }
  for (const [index, fence] of fences.entries()) {
    const message =
      fenceRefusal(fence) ??
      textRefusal(fence) ??
      uncheckedRefusal(fence, { isPage, isRun: run !== undefined, before: fences[index - 1] });
    if (message !== undefined) refuse(fence.line, message);
  }
  return problems;
}

/** Where a block stands. */
interface Surroundings {
  /** Whether it is on a page, of which blocks can run. */
  readonly isPage: boolean;
  /** Whether the page says in what they run. */
  readonly isRun: boolean;
  readonly before: Fence | undefined;
}

/** What nothing would check, and does not say so. */
function uncheckedRefusal(fence: Fence, { isPage, isRun, before }: Surroundings): string | undefined {
  const { language, file, isLeftOut, isRightAfter } = fence;
  // What is made from code is held equal to it.
  if (isLeftOut || MADE.test(fence.path)) return undefined;
  if (language === "sh" && !isPage) return 'no test runs this block: say why, as in "sh no-run: WHY"';
  if (language === "sh" && !isRun) {
    return `this block runs, and the page does not say in what: write "run: ${PLACES.join("|")}" in its front matter, or "sh no-run: WHY"`;
  }
  if (language === "text" && !(isRightAfter && before?.language === "sh")) {
    return 'this is held against nothing: let it stand right below the "sh" block that prints it, or say why nothing checks it: "text no-check: WHY"';
  }
  if (file !== undefined && !isRun && !READ.includes(language)) {
    return `nothing reads this file, as nothing of the page runs: say why, as in "${language} no-check: WHY"`;
  }
  return undefined;
}

/** Pages that `npm run docs` writes. */
const MADE = /^docs\/reference\/(?:cli|errors)\//;

/** Languages whose files are read wherever they stand. */
const READ = ["ts", "json", "yaml", "python", "go"];

function fenceRefusal({ language, about, file }: Fence): string | undefined {
  if (language === "")
    return 'say what it is: write "text" behind the back-ticks for what is plain text, else its language';
  const [, word, why] = /^no-(run|check)\b:?(.*)$/.exec(about) ?? [];
  if (word !== undefined) {
    if (why?.trim() === "" || !/^no-\w+: /.test(about)) return `say why, as in "${language} no-${word}: WHY"`;
    const wanted = language === "sh" ? "run" : "check";
    return word === wanted ? undefined : `write "${language} no-${wanted}:${why}"`;
  }
  if (language === "sh") {
    return SHELL.test(about)
      ? undefined
      : `"sh ${about}" is not known: write nothing after sh, or background, fails, fails=2 or no-run: WHY`;
  }
  if (language === "text")
    return about === "" ? undefined : `write "text" alone, or "text no-check: WHY"; a file has its own language`;
  if (["bash", "shell", "console"].includes(language)) return 'write "sh"';
  if (["typescript", "yml", "golang", "py"].includes(language)) {
    const short = { typescript: "ts", yml: "yaml", golang: "go" }[language] ?? "python";
    return `write "${short}"`;
  }
  if (file !== undefined) return undefined;
  if (CHECKED.includes(language)) {
    return about === ""
      ? undefined
      : `"${about}" is no file's name: write "${language}", with a name where it is a file`;
  }
  if (language === "yaml") {
    return YAML_KINDS.includes(about)
      ? undefined
      : 'say whose it is: write "yaml settings/acme.yaml" or another name, "yaml settings", "yaml tenants", or "yaml no-check: WHY"';
  }
  return `say what file it is, as in "${language} name.ext", or why nothing checks it: "${language} no-check: WHY"`;
}

/** What its own syntax says against the text. */
function textRefusal({ language, text, isLeftOut }: Fence): string | undefined {
  if (isLeftOut) return undefined;
  if (language === "json") {
    try {
      JSON.parse(text);
    } catch (error) {
      return `this is no JSON: ${(error as Error).message}`;
    }
  }
  if (language === "yaml") {
    const [mistake] = parseAllDocuments(text).flatMap(({ errors }) => errors);
    if (mistake !== undefined) return `this is no YAML: ${mistake.message}`;
  }
  if (language === "sh") {
    const { status, stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
    if (status !== 0) return `bash can't read this: ${stderr.trim()}`;
  }
  return undefined;
}
