/**
 * A sentence for people in which what came from outside stands apart from our own words, so that each format can show
 * it as nothing but text.
 */
export type Words = readonly (string | Given)[];

/** Text from outside: a value, a comment, a name that the service gave. */
export interface Given {
  readonly given: string;
  /** Whether it is a sentence, mostly of words, rather than a value. */
  readonly isSentence?: boolean;
}

/** Marks a text as from outside. */
export function given(text: string): Given {
  return { given: text };
}

/** Marks a sentence as one with something from outside in it: the message of a finding. */
export function sentence(text: string): Given {
  return { given: text, isSentence: true };
}

/** Our own sentence, with what is told in it: `` say`${37} threats from ${given("evil.example")}` ``. */
export function say(
  strings: TemplateStringsArray,
  ...told: readonly (string | number | Given | Words)[]
): Words {
  const words: (string | Given)[] = [];
  strings.forEach((own, index) => {
    words.push(own);
    const one = told[index];
    if (typeof one === "number") words.push(number(one));
    else if (isWords(one)) words.push(...one);
    else if (one !== undefined) words.push(one);
  });
  return words.filter((word) => word !== "");
}

/** Several, with a separator between them. */
export function join(all: readonly Words[], separator: string): Words {
  return all.flatMap((words, index) => (index === 0 ? words : [separator, ...words]));
}

/** The texts with commas and an "and" between them. */
export function enumerate(all: readonly Words[]): Words {
  if (all.length < 2) return all.flat();
  return [...join(all.slice(0, -1), ", "), " and ", ...(all.at(-1) ?? [])];
}

/** `5,000`, whatever the machine's language. */
export function number(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 threat`, `2 threats`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** The day of a time that the service told, `2026-11-19`; what is no time is shown as it came. */
export function day(time: string): Words {
  const date = /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(time)?.[0];
  return date === undefined ? [given(time)] : [date];
}

/** A day and minute in UTC: `2026-11-21 19:52 UTC`; what is no time is shown as it came. */
export function minute(time: string): Words {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}).*Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [given(time)] : [`${date} ${clock} UTC`];
}

/** A time to the second in UTC; what is none is shown as it came. */
export function timeWords(time: string): Words {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [given(time)] : [`${date} ${clock} UTC`];
}

/** Line ends as a sign, for where a text must stay on its line. */
export function onOneLine(text: string): string {
  return text.replace(/[\r\n]\s*/g, " ⏎ ");
}

function isWords(told: string | Given | Words | undefined): told is Words {
  return Array.isArray(told);
}
