import { type SourceContent, SourceError } from "../source-content";

/** The items of a feed in JSON. */
export type ParsedFeed = Omit<SourceContent, "etag" | "lastModified">;

/** @throws {SourceError} if the text isn't JSON, for example because it is cut short. */
export function parseFeedJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    // The parser's message quotes the text.
    throw new SourceError(
      `The source ${name} can't be read. Its response isn't valid JSON, or it is truncated after ${text.length} characters.`,
      { cause },
    );
  }
}
