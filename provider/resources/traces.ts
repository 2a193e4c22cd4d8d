import { join, sep } from "node:path";

/*
 * Pulumi notes four stack traces for each property of a resource, which nobody reads but who looks for promises that never end; and
 * one for the resource, whose frames stand in state, those of what runs the program too. In a TypeScript program each frame is
 * mapped to its source: most of what a program of many resources takes.
 */

/**
 * Until it is ended, by calling what it answers, those for promises are noted without frames, and others with the program's own.
 *
 * Where somebody looks for such promises all is noted as ever.
 */
export function briefTraces(): () => void {
  const { prepareStackTrace: prepare } = Error;
  // Node.js maps frames by itself only where nobody else writes them.
  const isNodes = prepare === undefined && process.sourceMapsEnabled;
  if (isNodes || process.env["PULUMI_DEBUG_PROMISE_LEAKS"]) return () => {};
  Error.prepareStackTrace = (error, frames) => {
    if (DEBUGGABLE.test(frames[0]?.getFileName() ?? "")) return String(error);
    const own = ofProgram(frames);
    return prepare?.(error, own) ?? [String(error), ...own.map((frame) => `    at ${frame}`)].join("\n");
  };
  return () => {
    if (prepare === undefined) Reflect.deleteProperty(Error, "prepareStackTrace");
    else Error.prepareStackTrace = prepare;
  };
}

/** Without what comes below the program. Pulumi counts on the frames above it, which are its own and the resource's. */
function ofProgram(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const first = frames.findIndex(isOfProgram);
  return first < 0 ? frames : [...frames.slice(0, first), ...frames.slice(first).filter(isOfProgram)];
}

function isOfProgram(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName() ?? "node:";
  return !file.startsWith("node:") && !OWN.some((folder) => file.startsWith(folder)) && !PULUMI.test(file);
}

/** The dynamic resources, and those over the native plugin. */
const OWN = [__dirname, join(__dirname, "..", "native")].map((folder) => `${folder}${sep}`);
const PULUMI = /[\\/]@pulumi[\\/]pulumi[\\/]/;
/** Where Pulumi keeps what began a promise. */
const DEBUGGABLE = /[\\/]@pulumi[\\/]pulumi[\\/]runtime[\\/]debuggable\.js$/;
