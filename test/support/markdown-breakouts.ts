/**
 * Returns the Markdown that goes beyond plain words, emphasis, headings, lists, code and the few tags that reports use:
 * links, images, mentions, references, other HTML, escapes, table rows with too many cells. Empty if there is none.
 * Based on the behavior of GitHub and GitLab, not on the product's escaping.
 */
export function findBreakouts(markdown: string): string[] {
  const outside = removeCode(markdown);
  const breakouts = [...outside.matchAll(BREAKOUTS)].map(([text]) => text);
  return [...breakouts, ...findUnevenRows(markdown)];
}

/** Removes every code block and code span. An unmatched run of backticks stays. */
function removeCode(markdown: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of markdown.split(/\r\n|[\r\n]/)) {
    const ticks = /^ {0,3}(`{3,})[^`]*$/.exec(line)?.[1];
    if (fence !== undefined) {
      if (ticks !== undefined && ticks.length >= fence.length && line.trim() === ticks) fence = undefined;
    } else if (ticks !== undefined) {
      fence = ticks;
      lines.push("");
    } else lines.push(line);
  }
  if (fence !== undefined) lines.push("`a block without an end");
  return lines
    .join("\n")
    .split(/\n{2,}/)
    .map(removeCodeSpans)
    .join("\n\n");
}

function removeCodeSpans(block: string): string {
  let outside = "";
  let rest = block;
  for (let run = /`+/.exec(rest); run !== null; run = /`+/.exec(rest)) {
    const [ticks] = run;
    const after = rest.slice(run.index + ticks.length);
    const end = [...after.matchAll(/`+/g)].find(([other]) => other.length === ticks.length);
    if (end === undefined) return `${outside}${rest}`;
    outside += `${rest.slice(0, run.index)}code`;
    rest = after.slice(end.index + ticks.length);
  }
  return outside + rest;
}

/** Our own tags and markers don't count. */
const BREAKOUTS =
  /`+|\\|@|:\/\/|www\.|mailto:|!\[|\]\(|(?<![\w/])#\d|<(?!!-- email-security-(?:plan|rollout) -->|\/?details>|details open>|\/?summary>|br>)[^\n]{0,20}|&[#\w]+;|\[(?!!(?:CAUTION|WARNING|TIP|NOTE)\])|_{1,2}\w|\$|:\w+:|\bGH-\d/g;

function findUnevenRows(markdown: string): string[] {
  const odd: string[] = [];
  let cells = 0;
  for (const line of markdown.split("\n")) {
    const cellCount = line.startsWith("| ") || line.startsWith("|--") ? line.split("|").length : 0;
    if (cells > 0 && cellCount > 0 && cellCount !== cells) odd.push(line);
    cells = cellCount;
  }
  return odd;
}
