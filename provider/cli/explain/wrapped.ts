const NARROWEST = 60;
const WIDEST = 100;

/** Text in lines as wide as the terminal, and never so wide that they are hard to read. */
export function wrapped(text: string, indent = ""): string {
  const width = Math.min(WIDEST, Math.max(NARROWEST, process.stdout.columns ?? WIDEST)) - indent.length;
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${indent}`);
}

/** The same after what a list begins its items with; the lines below the first stand below its text. */
export function itemText(start: string, text: string): string {
  return `${start}${wrapped(text, " ".repeat(start.length))}`;
}
