import { dirname, isAbsolute, join } from "node:path";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";
import { createFileReader } from "../../settings-files/read-yaml-file";
import { isHiddenFile } from "../../settings-files/repository";
import type { FeedDeclaration } from "../../settings-files/source-schema";
import { requestSource } from "../request-source";
import { type SourceContent, type SourceContext, SourceError } from "../source-content";
import { parseCsvFeed } from "./csv";
import type { ParsedFeed } from "./json-feed";
import { parseMispFeed } from "./misp";
import { parseStixFeed } from "./stix";
import { parseTextFeed } from "./text";

const ACCEPTED_TYPES = {
  url: "text/plain, */*;q=0.5",
  csv: "text/csv, text/plain;q=0.9, */*;q=0.5",
  stix: "application/taxii+json;version=2.1, application/stix+json;version=2.1, application/json;q=0.9",
  misp: "application/json",
} as const;

/**
 * Reads a feed of indicators, or a local table.
 *
 * @throws {SourceError} if the feed can't be read as a whole.
 */
export async function readFeed(
  source: FeedDeclaration,
  context: SourceContext,
): Promise<SourceContent | "not-modified"> {
  if (source.file !== undefined) return parseFeed(source, readLocalFeed(source.file, context), context);
  const { etag, lastModified } = context.previous ?? {};
  const response = await requestSource(source.url ?? "", context, {
    accept: ACCEPTED_TYPES[source.kind],
    ...(etag === undefined ? {} : { "if-none-match": etag }),
    ...(lastModified === undefined ? {} : { "if-modified-since": new Date(lastModified).toUTCString() }),
  });
  if (response === "not-modified") return response;
  // JSON shows itself whether it is complete.
  const isText = source.kind === "url" || source.kind === "csv";
  if (isText && response.isUnbounded && !/[\r\n]$/.test(response.text)) {
    throw new SourceError(
      `The source ${context.name} can't be read. Its response has no length and ends within a line, so it may be truncated. Have the server send a Content-Length, or end the list with a line break.`,
    );
  }
  const modifiedAt = Date.parse(response.lastModified ?? "");
  return {
    ...parseFeed(source, response.text, context),
    ...omitUndefined({
      etag: response.etag,
      lastModified: Number.isNaN(modifiedAt) ? undefined : new Date(modifiedAt).toISOString(),
    }),
  };
}

function parseFeed(source: FeedDeclaration, text: string, { name, today }: SourceContext): ParsedFeed {
  switch (source.kind) {
    case "url":
      return { items: parseTextFeed(text), skipped: [] };
    case "csv":
      return { items: parseCsvFeed(text, name, source.column), skipped: [] };
    case "stix":
      return parseStixFeed(text, name, today === undefined ? Date.now() : Date.parse(`${today}T23:59:59Z`));
    case "misp":
      return parseMispFeed(text, name);
  }
}

function readLocalFeed(file: string, { name, declaredIn = "." }: SourceContext): string {
  try {
    if (isAbsolute(file)) throw new Error("its path isn't relative to the settings file");
    const path = join(dirname(declaredIn), file);
    // Hidden files may hold credentials, and the report quotes lines that aren't values.
    if (isHiddenFile(declaredIn, path))
      throw new Error("it is a hidden file or in a hidden directory, or a link to one");
    const text = createFileReader(declaredIn)(path);
    if (/^version https:\/\/git-lfs/.test(text)) throw new Error("it is a pointer of Git LFS");
    return text;
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "it doesn't exist" : (cause as Error).message;
    throw new SourceError(`The source ${name} can't be read. The file ${quote(file, 300)} can't be read: ${reason}.`, {
      cause,
    });
  }
}
