/** Renders a terminal's contents as SVG: text with the colors that `styleText` writes. */
export function terminalPicture(text: string, title: string): string {
  const lines = text.replace(/\n+$/, "").split("\n");
  const columns = Math.max(...lines.map((line) => line.replace(SGR, "").length));
  const width = Math.ceil(columns * CHARACTER + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  let style = PLAIN;
  const rows = lines.map((line, at) => {
    const [spans, after] = spansOf(line, style);
    style = after;
    const y = MARGIN + (at + 1) * LINE - 5;
    return spans === "" ? "" : `  <text x="${MARGIN}" y="${y}">${spans}</text>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
  <title>${escaped(title)}</title>
  <style>
    rect { fill: #16181d }
    text { fill: #d6d9df; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
    .bold { font-weight: 700 } .dim { fill: #9aa1ad }
    .red { fill: #ff8a80 } .green { fill: #8fd694 } .yellow { fill: #ffd166 } .cyan { fill: #7fd3e6 }
  </style>
  <rect width="${width}" height="${height}" rx="8"/>
${rows.join("")}</svg>
`;
}

interface Style {
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly color?: string | undefined;
}

const PLAIN: Style = {};
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
const SGR = /\u001b\[(\d+)m/g;
const COLORS: Readonly<Record<string, string>> = { 31: "red", 32: "green", 33: "yellow", 36: "cyan" };

/** In pixels. */
const CHARACTER = 8.43;
const LINE = 20;
const MARGIN = 16;

function spansOf(line: string, before: Style): [spans: string, after: Style] {
  let style = before;
  let spans = "";
  // Text and escape codes alternate.
  for (const [at, part] of line.split(SGR).entries()) {
    if (at % 2 === 1) style = changedBy(part, style);
    else if (part !== "") spans += spanOf(part, style);
  }
  return [spans, style];
}

function changedBy(code: string, style: Style): Style {
  if (code === "0") return PLAIN;
  if (code === "1") return { ...style, bold: true };
  if (code === "2") return { ...style, dim: true };
  if (code === "22") return { ...style, bold: false, dim: false };
  if (code === "39") return { ...style, color: undefined };
  const color = COLORS[code];
  if (color === undefined) throw new Error(`The picture of a terminal has no style for SGR ${code}.`);
  return { ...style, color };
}

function spanOf(text: string, { bold, dim, color }: Style): string {
  const names = [bold && "bold", dim && "dim", color].filter(Boolean).join(" ");
  return names === "" ? escaped(text) : `<tspan class="${names}">${escaped(text)}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
