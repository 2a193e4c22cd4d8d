import { sep } from "node:path";
import * as pulumi from "@pulumi/pulumi";

/*
 * Pulumi notes four stack traces for each property of a resource, which nobody reads but who looks for promises that never end; and
 * one for the resource, whose frames stand in state, those of what runs the program too. In a TypeScript program each frame is
 * mapped to its source: most of what a program of many resources takes.
 */

/** What Pulumi notes of stacks while a resource is made. */
export interface Traces {
  /** Ends it for an error, which gets the trace to the resource in the program. */
  of(error: unknown): unknown;
  /** From now on all is noted as before. */
  end(): void;
}

/**
 * Until it is ended, traces are noted without frames; but that of the resource's place in the program, with the program's own.
 *
 * Where somebody looks for such promises, or transformations of the program run meanwhile, all is noted as ever.
 */
export function briefTraces(opts: pulumi.CustomResourceOptions | undefined): Traces {
  const { stackTraceLimit: limit, prepareStackTrace: prepare } = Error;
  const end = (): void => {
    Error.stackTraceLimit = limit;
    if (prepare !== undefined) Error.prepareStackTrace = prepare;
  };
  const isDebugged = Boolean(process.env["PULUMI_DEBUG_PROMISE_LEAKS"]);
  if (!isDebugged && !runsTransformations(opts)) {
    Error.stackTraceLimit = 0;
    if (prepare !== undefined) Error.prepareStackTrace = (error, frames) => prepare(error, ofProgram(frames));
  }
  return {
    of(error) {
      end();
      const isTraced = !(error instanceof Error) || /^ {4}at /m.test(error.stack ?? "");
      if (!isTraced) Error.captureStackTrace(error, this.of);
      return error;
    },
    end,
  };
}

/** Whether a function of the program runs while the resource is made. */
function runsTransformations(opts: pulumi.CustomResourceOptions | undefined): boolean {
  const parent: unknown = opts?.parent ?? pulumi.runtime.getStackResource();
  const inherited = (parent as { readonly __transformations?: readonly unknown[] } | undefined)
    ?.__transformations;
  return (opts?.transformations?.length ?? 0) > 0 || (inherited?.length ?? 0) > 0;
}

/** Without what comes below the program. Pulumi counts on the frames above it, which are its own and the resource's. */
function ofProgram(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const first = frames.findIndex(isOfProgram);
  return first < 0 ? frames : [...frames.slice(0, first), ...frames.slice(first).filter(isOfProgram)];
}

function isOfProgram(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName() ?? "node:";
  return !file.startsWith("node:") && !file.startsWith(`${__dirname}${sep}`) && !PULUMI.test(file);
}

const PULUMI = /[\\/]@pulumi[\\/]pulumi[\\/]/;
