import * as pulumi from "@pulumi/pulumi";

/*
 * Pulumi notes four stack traces for each property of a resource, which nobody reads but who looks for promises that never end.
 * In a TypeScript program each frame of each is mapped to its source: most of what a program of many resources takes.
 */

/**
 * Has Pulumi note traces of no frames, until `Error.stackTraceLimit` is set to what this answers. The place of a resource in the
 * program, which stands in state, is noted all the same.
 *
 * Where somebody looks for such promises, or transformations of the program's own run meanwhile, all stays as it is.
 */
export function withoutTraces(opts: pulumi.CustomResourceOptions | undefined): number {
  const limit = Error.stackTraceLimit;
  const isDebugged = Boolean(process.env["PULUMI_DEBUG_PROMISE_LEAKS"]);
  if (!isDebugged && !runsTransformations(opts)) Error.stackTraceLimit = 0;
  return limit;
}

/** An error that came meanwhile, with the trace to the resource in the program. */
export function traced(error: unknown, limit: number): unknown {
  Error.stackTraceLimit = limit;
  if (error instanceof Error && !/^ {4}at /m.test(error.stack ?? "")) Error.captureStackTrace(error, traced);
  return error;
}

/** Whether a function of the program runs while the resource is made. */
function runsTransformations(opts: pulumi.CustomResourceOptions | undefined): boolean {
  const parent: unknown = opts?.parent ?? pulumi.runtime.getStackResource();
  const inherited = (parent as { readonly __transformations?: readonly unknown[] } | undefined)
    ?.__transformations;
  return (opts?.transformations?.length ?? 0) > 0 || (inherited?.length ?? 0) > 0;
}
