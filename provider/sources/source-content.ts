import { createErrorClass } from "../model/email-security-error";
import { excerptSentences } from "../model/text";

/** An item that a source lists. */
export interface SourceItem {
  /** The value as written: a mailbox, a domain, an IP address or a URL, possibly defanged. */
  readonly value: string;
  readonly name?: string;
}

/** Items that a source lists but that can't be declared, by reason. */
export interface SkippedItems {
  readonly reason: string;
  readonly count: number;
  readonly examples: readonly string[];
}

export interface SourceContent {
  readonly items: readonly SourceItem[];
  readonly skipped: readonly SkippedItems[];
  readonly etag?: string;
  /** An ISO instant. */
  readonly lastModified?: string;
  /** An ISO instant. */
  readonly published?: string;
  /** Whether the same content has other items on a later day. */
  readonly dependsOnDay?: boolean;
}

export interface SourceContext {
  readonly name: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly previous?: { readonly etag?: string; readonly lastModified?: string };
  readonly max: number;
  /** The settings file that declares the source. Local files are relative to it. */
  readonly declaredIn?: string;
  /** The day (UTC). Default: today. */
  readonly today?: string;
}

/** A source can't be read, or its answer can't be trusted (`ERR_SOURCE`). Nothing is changed. */
export class SourceError extends createErrorClass("ERR_SOURCE") {}

/** Describes a failed request in a sentence without a full stop, for an error message. */
export function describeFailure(error: unknown): string {
  const { message, name } = error instanceof Error ? error : { message: String(error), name: "" };
  return excerptSentences(message || name, 200);
}
