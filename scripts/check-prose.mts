/**
 * Checks prose against the terms and sentence patterns of `scripts/glossary.json`, with textlint: Markdown, comments, strings that
 * hold sentences, and titles of tests. Also checks the average length of a page's sentences. Prints a line for each problem and the ten
 * pages with the longest sentences, and exits with 1 if there is a problem.
 *
 *   node scripts/check-prose.mts [FILE …]
 */
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { TextlintKernel } from "@textlint/kernel";
import markdownPlugin from "@textlint/textlint-plugin-markdown";
import type { TextlintRuleModule } from "@textlint/types";
import terminology from "textlint-rule-terminology";
import { listRepositoryFiles } from "./repository-files.mts";
import { codePlugin } from "./textlint-code-plugin.mts";

interface ProseGlossary {
  /** Rejected terms as regular expressions, each with the accepted term. */
  terms: Record<string, string>;
  /** Rejected sentences as regular expressions, each with advice. */
  sentences: Record<string, string>;
}

const { terms, sentences }: ProseGlossary = JSON.parse(readFileSync(new URL("glossary.json", import.meta.url), "utf8"));
const MAX_AVERAGE_WORDS = 18;
const PAGE_PATH = /^(?:README|SECURITY|CONTRIBUTING)\.md$|^docs\/.*\.md$/;
const sentenceSegmenter = new Intl.Segmenter("en", { granularity: "sentence" });
const sentenceLengths = new Map<string, number[]>();
/** Generated pages repeat strings of the code. */
const GENERATED_PATH = /^docs\/reference\/(?:api|cli|errors)\/|^sdk\//;

const checkSentencePatterns: TextlintRuleModule = ({ Syntax, RuleError, report, getSource, locator }) => {
  const check = (node: Parameters<typeof report>[0]): void => {
    const source = getSource(node);
    // The marks of a heading or a cell precede its text. A heading has no full stop.
    const start = /^[#|\s]*/.exec(source)?.[0].length ?? 0;
    const text = `${source.slice(start)}${node.type === Syntax.Header ? "." : ""}`;
    for (const [pattern, advice] of Object.entries(sentences)) {
      for (const { index, 0: match } of text.matchAll(new RegExp(pattern, "gu")))
        report(node, new RuleError(`“${match.trim()}”: ${advice}`, { padding: locator.at(start + index) }));
    }
  };
  return { [Syntax.Paragraph]: check, [Syntax.Header]: check, TableCell: check };
};

/** Adds the word count of each sentence of a page to `sentenceLengths`. */
const countSentenceWords: TextlintRuleModule = ({ Syntax, getSource, getFilePath }) => ({
  [Syntax.Paragraph](node) {
    const path = getFilePath() ?? "";
    if (!PAGE_PATH.test(path)) return;
    const text = getSource(node)
      .replace(/`[^`]*`/g, "code")
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
    const lengths = [...sentenceSegmenter.segment(text)].map(({ segment }) => segment.trim().split(/\s+/).length);
    sentenceLengths.set(path, [...(sentenceLengths.get(path) ?? []), ...lengths]);
  },
});

const kernel = new TextlintKernel();
const isProse = (file: string): boolean => /\.(?:md|m?[jt]s)$/.test(file) && !GENERATED_PATH.test(file);
const files = process.argv.length > 2 ? process.argv.slice(2) : listRepositoryFiles().filter(isProse);
for (const file of files) {
  const { messages } = await kernel.lintText(readFileSync(file, "utf8"), {
    filePath: file,
    ext: extname(file),
    plugins: [
      { pluginId: "markdown", plugin: markdownPlugin.default },
      { pluginId: "code", plugin: codePlugin },
    ],
    rules: [
      {
        ruleId: "terminology",
        rule: terminology,
        options: { defaultTerms: false, terms: Object.entries(terms), skip: ["BlockQuote"] },
      },
      { ruleId: "sentence-patterns", rule: checkSentencePatterns },
      { ruleId: "sentence-length", rule: countSentenceWords },
    ],
  });
  for (const { loc, message } of messages)
    console.log(`${file}:${loc.start.line}:${loc.start.column}: ${message.replace(/\s+/g, " ")}`);
  if (messages.length > 0) process.exitCode = 1;
}

const averages = [...sentenceLengths]
  .map(([path, lengths]) => [lengths.reduce((sum, length) => sum + length, 0) / lengths.length, path] as const)
  .sort(([a], [b]) => b - a);
console.log("The pages with the longest sentences, in words on average:");
for (const [average, path] of averages.slice(0, 10)) console.log(`${average.toFixed(1).padStart(6)}  ${path}`);
if (averages.some(([average]) => average > MAX_AVERAGE_WORDS)) {
  console.log(`The average must be at most ${MAX_AVERAGE_WORDS}. Split long sentences.`);
  process.exitCode = 1;
}
