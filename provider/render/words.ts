/** A sentence that keeps external text separate from trusted text, so that each renderer can escape it. */
export type Words = readonly (string | Given)[];

/** External text: a value, a comment, or a name from the service. */
export interface Given {
  readonly given: string;
  /** Whether it is a sentence rather than a value. */
  readonly isSentence?: boolean;
}

/** Marks a text as external. */
export function given(text: string): Given {
  return { given: text };
}

/** Marks a sentence that contains external text, such as the message of a finding. */
export function sentence(text: string): Given {
  return { given: text, isSentence: true };
}

/** A template tag for trusted sentences with inserted values: `` say`${37} threats from ${given("evil.example")}` ``. */
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

export function join(all: readonly Words[], separator: string): Words {
  return all.flatMap((words, index) => (index === 0 ? words : [separator, ...words]));
}

/** Joins texts with commas and "and". */
export function enumerate(all: readonly Words[]): Words {
  if (all.length < 2) return all.flat();
  return [...join(all.slice(0, -1), ", "), " and ", ...(all.at(-1) ?? [])];
}

/** Formats `5,000`, independent of the locale. */
export function number(count: number): string {
  return count.toLocaleString("en-US");
}

/** Formats `1 threat`, `2 threats`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Formats the day of a time from the service, `2026-11-19`; an invalid time stays as it is. */
export function day(time: string): Words {
  const date = /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(time)?.[0];
  return date === undefined ? [given(time)] : [date];
}

/** Formats a time to the minute in UTC: `2026-11-21 19:52 UTC`; an invalid time stays as it is. */
export function minute(time: string): Words {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}).*Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [given(time)] : [`${date} ${clock} UTC`];
}

/** Formats a time to the second in UTC; an invalid time stays as it is. */
export function timeWords(time: string): Words {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [given(time)] : [`${date} ${clock} UTC`];
}

/** Replaces newlines by a visible symbol, to keep a text on one line. */
export function onOneLine(text: string): string {
  return text.replace(/[\r\n]\s*/g, " ⏎ ");
}

function isWords(told: string | Given | Words | undefined): told is Words {
  return Array.isArray(told);
}
