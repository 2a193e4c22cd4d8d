import messages from "@pulumi/pulumi/proto/provider_pb.js";
import type { Listed } from "../resources/lifecycle/lifecycle";
import { quote } from "../settings/text";
import { ProtocolError } from "./protocol-error";

/** The requested page size, as in Pulumi's `ListRequest`: a number below 1 means no limit. */
interface Asked {
  getLimit(): number;
  getPageSize(): number;
  getContinuationToken(): string;
}

/** Returns the requested page as stream messages; if more items follow, the last message has a token. */
export function pageOf(found: readonly Listed[], asked: Asked): unknown[] {
  const { from, until } = placeOf(asked.getContinuationToken());
  const end = Math.min(found.length, until, from + unlessNone(asked.getLimit()));
  const next = Math.min(end, from + unlessNone(asked.getPageSize()));
  const results = found.slice(from, next).map(resultOf);
  return next < end ? [...results, continuationOf(`${next}-${end}`)] : results;
}

/** Returns the answer for a preview that doesn't know the filters yet. */
export function notKnownYet(): unknown {
  const answer = new messages.ListResponse();
  answer.setComputed(new messages.ListResponse.Computed());
  return answer;
}

/** Returns where a page begins and where the last one ends, based on the limit of the first request. */
function placeOf(token: string): { readonly from: number; readonly until: number } {
  if (token === "") return { from: 0, until: Number.POSITIVE_INFINITY };
  const [, from, until] = /^(\d+)-(\d+)$/.exec(token) ?? [];
  if (from === undefined) throw new ProtocolError(`There is no page ${quote(token)}; ask for the first.`);
  return { from: Number(from), until: Number(until) };
}

function unlessNone(limit: number): number {
  return limit < 1 ? Number.POSITIVE_INFINITY : limit;
}

function resultOf({ id, name }: Listed): unknown {
  const result = new messages.ListResponse.Result();
  result.setId(id);
  result.setName(name);
  const answer = new messages.ListResponse();
  answer.setResult(result);
  return answer;
}

function continuationOf(token: string): unknown {
  const continuation = new messages.ListResponse.Continuation();
  continuation.setContinuationToken(token);
  const answer = new messages.ListResponse();
  answer.setContinuation(continuation);
  return answer;
}
