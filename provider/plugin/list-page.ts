import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { quote } from "../model/text";
import type { ListedResource } from "../resources/lifecycle/lifecycle";
import { ProtocolError } from "./protocol-error";

/** The page parameters of Pulumi's `ListRequest`. A number below 1 means no limit. */
interface ListPageRequest {
  getLimit(): number;
  getPageSize(): number;
  getContinuationToken(): string;
}

/**
 * Returns the requested page as messages of a stream. If there are more pages, the last message has the continuation
 * token.
 */
export function buildPage(resources: readonly ListedResource[], request: ListPageRequest): unknown[] {
  const { from, until } = parsePageToken(request.getContinuationToken());
  const endIndex = Math.min(resources.length, until, from + normalizeLimit(request.getLimit()));
  const nextIndex = Math.min(endIndex, from + normalizeLimit(request.getPageSize()));
  const results = resources.slice(from, nextIndex).map(buildResultMessage);
  return nextIndex < endIndex ? [...results, buildContinuationMessage(`${nextIndex}-${endIndex}`)] : results;
}

/** Returns the response for a preview that doesn't know the filters yet. */
export function buildUnknownPage(): unknown {
  const response = new messages.ListResponse();
  response.setComputed(new messages.ListResponse.Computed());
  return response;
}

/** Parses the start of a page and the end of the last page, which follows from the limit of the first request. */
function parsePageToken(token: string): { readonly from: number; readonly until: number } {
  if (token === "") return { from: 0, until: Number.POSITIVE_INFINITY };
  const [, from, limit] = /^(\d+)-(\d+)$/.exec(token) ?? [];
  if (from === undefined) throw new ProtocolError(`Page ${quote(token)} doesn't exist; request the first page.`);
  return { from: Number(from), until: Number(limit) };
}

function normalizeLimit(limit: number): number {
  return limit < 1 ? Number.POSITIVE_INFINITY : limit;
}

function buildResultMessage({ id, name }: ListedResource): unknown {
  const result = new messages.ListResponse.Result();
  result.setId(id);
  result.setName(name);
  const response = new messages.ListResponse();
  response.setResult(result);
  return response;
}

function buildContinuationMessage(token: string): unknown {
  const continuation = new messages.ListResponse.Continuation();
  continuation.setContinuationToken(token);
  const response = new messages.ListResponse();
  response.setContinuation(continuation);
  return response;
}
