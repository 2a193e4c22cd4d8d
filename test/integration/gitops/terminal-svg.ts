/** Renders a terminal's contents as SVG: text with the colors that `styleText` writes. */
export function renderTerminal(text: string, title: string): string {
  const lines = text.replace(/\n+$/, "").split("\n");
  const columns = Math.max(...lines.map((line) => line.replace(SGR, "").length));
  const width = Math.ceil(columns * CHARACTER + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  let style = PLAIN;
  const rows = lines.map((line, index) => {
    const [spans, after] = renderSpans(line, style);
    style = after;
    const y = MARGIN + (index + 1) * LINE - 5;
    return spans === "" ? "" : `  <text x="${MARGIN}" y="${y}">${spans}</text>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
  <title>${escapeXml(title)}</title>
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

interface TextStyle {
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly color?: string | undefined;
}

const PLAIN: TextStyle = {};
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
const SGR = /\u001b\[(\d+)m/g;
const COLORS: Readonly<Record<string, string>> = { 31: "red", 32: "green", 33: "yellow", 36: "cyan" };

/** In pixels. */
const CHARACTER = 8.43;
const LINE = 20;
const MARGIN = 16;

function renderSpans(line: string, before: TextStyle): [spans: string, after: TextStyle] {
  let style = before;
  let spans = "";
  // Text and escape codes alternate.
  for (const [index, part] of line.split(SGR).entries()) {
    if (index % 2 === 1) style = applyStyleCode(part, style);
    else if (part !== "") spans += renderSpan(part, style);
  }
  return [spans, style];
}

function applyStyleCode(code: string, style: TextStyle): TextStyle {
  if (code === "0") return PLAIN;
  if (code === "1") return { ...style, bold: true };
  if (code === "2") return { ...style, dim: true };
  if (code === "22") return { ...style, bold: false, dim: false };
  if (code === "39") return { ...style, color: undefined };
  const color = COLORS[code];
  if (color === undefined) throw new Error(`The picture of a terminal has no style for SGR ${code}.`);
  return { ...style, color };
}

function renderSpan(text: string, { bold, dim, color }: TextStyle): string {
  const names = [bold && "bold", dim && "dim", color].filter(Boolean).join(" ");
  return names === "" ? escapeXml(text) : `<tspan class="${names}">${escapeXml(text)}</tspan>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
