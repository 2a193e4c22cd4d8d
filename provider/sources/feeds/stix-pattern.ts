/** The objects whose value can be an entry. */
const VALUE_PATHS: ReadonlySet<string> = new Set([
  "domain-name:value",
  "ipv4-addr:value",
  "ipv6-addr:value",
  "email-addr:value",
  "email-message:from_ref.value",
  "email-message:sender_ref.value",
  "url:value",
]);

const TOKEN = /\s*(?:(\[|\]|\(|\)|,|!=|=)|('(?:[^'\\]|\\.)*')|([a-z][\w-]*:[\w.'[\]*-]*[\w'*])|([A-Za-z]+))/y;

/**
 * Returns the values of a STIX 2.1 pattern, each of which alone matches it, and undefined for each alternative that an entry can't express,
 * such as a file. Supports `=` and `IN`, combined with `OR`. Undefined for any other pattern.
 */
export function parseStixPattern(pattern: string): StixValue[] | undefined {
  const tokens = tokenize(pattern);
  if (tokens === undefined) return undefined;
  const reader = new PatternReader(tokens);
  const values = reader.readObservations();
  return values?.some((value) => value !== undefined) && reader.isAtEnd ? values : undefined;
}

type StixValue = string | undefined;

function tokenize(pattern: string): string[] | undefined {
  const tokens: string[] = [];
  const text = pattern.trimEnd();
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const token = TOKEN.exec(text)
      ?.slice(1)
      .find((part) => part !== undefined);
    if (token === undefined) return undefined;
    tokens.push(token);
  }
  return tokens;
}

/** Each method returns undefined for a pattern that it doesn't support. */
class PatternReader {
  readonly #tokens: readonly string[];
  #position = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#tokens.length;
  }

  readObservations(): StixValue[] | undefined {
    return this.#readAlternatives(() => {
      if (this.#take("(")) return this.#close(this.readObservations(), ")");
      return this.#take("[") ? this.#close(this.#readComparisons(), "]") : undefined;
    });
  }

  #readComparisons(): StixValue[] | undefined {
    return this.#readAlternatives(() => {
      if (this.#take("(")) return this.#close(this.#readComparisons(), ")");
      const path = this.#next();
      const values = this.#take("=") ? this.#readText() : this.#take("IN") ? this.#readSet() : undefined;
      return VALUE_PATHS.has(path) ? values : values?.map(() => undefined);
    });
  }

  #readAlternatives(readAlternative: () => StixValue[] | undefined): StixValue[] | undefined {
    const all: StixValue[] = [];
    do {
      const values = readAlternative();
      if (values === undefined) return undefined;
      all.push(...values);
    } while (this.#take("OR"));
    return all;
  }

  #readSet(): string[] | undefined {
    if (!this.#take("(")) return undefined;
    const all: string[] = [];
    do {
      const values = this.#readText();
      if (values === undefined) return undefined;
      all.push(...values);
    } while (this.#take(","));
    return this.#close(all, ")");
  }

  #readText(): string[] | undefined {
    const token = this.#next();
    return token.startsWith("'") ? [token.slice(1, -1).replace(/\\(.)/g, "$1")] : undefined;
  }

  #close<Value extends StixValue>(values: Value[] | undefined, bracket: string): Value[] | undefined {
    return values !== undefined && this.#take(bracket) ? values : undefined;
  }

  #next(): string {
    return this.#tokens[this.#position++] ?? "";
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#position] !== token) return false;
    this.#position += 1;
    return true;
  }
}
