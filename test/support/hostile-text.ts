import fc from "fast-check";

const ESC = "\u001b";

/** Texts that are interpreted where they are printed, keyed by their effect. */
export const HOSTILE = {
  "a colour": `${ESC}[31mred${ESC}[0m`,
  "a cleared screen": `${ESC}[2J${ESC}[H`,
  "a title": `${ESC}]0;pwned\u0007`,
  "a link to elsewhere": `${ESC}]8;;http://evil.example${ESC}\\trusted.example${ESC}]8;;${ESC}\\`,
  "a colour, by a C1 control": "\u009b31mred",
  "a title, by C1 controls": "\u009d0;pwned\u009c",
  "a turned text": "exe.\u202egpj",
  "an isolated text": "a\u2066b\u2069c",
  "a line overwritten": "bad\rgood",
  "a NUL": "a\0b",
  "a backspace": "bad\b\b\bgood",
  "a line of its own": "x\u2028y\u2029z",
  "half a character": "a\ud800b",
  "a GitHub command": "::add-mask::x",
  "a GitHub command in a second line": "x\n::set-output name=a::b",
  "an indented GitHub command": "x\n   ::stop-commands::t",
  "an older GitHub command": "x ##[add-path]/tmp",
  "an Azure command": "x ##vso[task.setvariable variable=PATH]/tmp",
  "a colour of the engine": "<{%fg 1%}>red",
  "what the engine fails on": "<{%nonsense%}>",
  "what the engine looks for the end of": "<{% x",
  HTML: "<script>alert(1)</script>",
  Markdown: "![](http://evil.example/pixel)",
  "a formula": '=HYPERLINK("http://evil.example")',
  "another formula": "@SUM(1+1)*cmd|' /C calc'!A0",
  "very long": "x".repeat(5_000),
} as const;

/** As much of all of it as an id may hold: at most 1,000 characters, without the replacement character. */
export const HOSTILE_ID = [
  ...Object.values(HOSTILE)
    .join(" ")
    .toWellFormed()
    .replace(/[\uFFFD\r\n]/g, ""),
]
  .slice(0, 450)
  .join("");

/** Arbitrary text with a hostile part anywhere in it. */
export const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...Object.values(HOSTILE)),
      fc.constantFrom(":", "::", "#", "##", "[", "<", "{%", "\r", "\n", "\r\n", "\t", " ", "error"),
      fc.string({ unit: "grapheme", maxLength: 5 }),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(""));

/**
 * Returns the parts of an output that a terminal, Pulumi's engine or a build pipeline would interpret as commands;
 * empty for plain text. Line ends and tabs count as text here. Based on the behavior of those programs, not on the
 * product's escaping.
 */
export function findTerminalCommands(output: string): string[] {
  const leaks: string[] = [];
  for (const character of output) {
    const code = character.codePointAt(0) ?? 0;
    const isControl = (code < 0x20 && code !== 0x0a && code !== 0x09) || (code >= 0x7f && code <= 0x9f);
    const turnsText = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    const endsLine = code === 0x2028 || code === 0x2029;
    const isHalf = code >= 0xd800 && code <= 0xdfff;
    if (isControl || turnsText || endsLine || isHalf) leaks.push(`U+${code.toString(16)}`);
  }
  for (const line of output.split("\n")) {
    // GitHub trims a line and looks for a known command; each of them has a letter that no IPv6 address contains.
    if (/^::[\w-]*[g-z_-]/i.test(line.trim())) leaks.push(line);
    if (/##\w*\[/.test(line)) leaks.push(line);
    if (line.includes("<{%")) leaks.push(line);
  }
  return leaks;
}
