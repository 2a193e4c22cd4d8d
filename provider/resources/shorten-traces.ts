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
export function shortenTraces(): () => void {
  const { prepareStackTrace: originalPrepare } = Error;
  // Node.js maps frames by itself only where nobody else writes them.
  const isNodeMapping = originalPrepare === undefined && process.sourceMapsEnabled;
  if (isNodeMapping || process.env["PULUMI_DEBUG_PROMISE_LEAKS"]) return () => {};
  Error.prepareStackTrace = (error, frames) => {
    if (DEBUGGABLE_PATH.test(frames[0]?.getFileName() ?? "")) return String(error);
    const programFrames = filterProgramFrames(frames);
    return (
      originalPrepare?.(error, programFrames) ??
      [String(error), ...programFrames.map((frame) => `    at ${frame}`)].join("\n")
    );
  };
  return () => {
    if (originalPrepare === undefined) Reflect.deleteProperty(Error, "prepareStackTrace");
    else Error.prepareStackTrace = originalPrepare;
  };
}

/** Without what comes below the program. Pulumi counts on the frames above it, which are its own and the resource's. */
function filterProgramFrames(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const firstProgramFrame = frames.findIndex(isProgramFrame);
  return firstProgramFrame < 0
    ? frames
    : [...frames.slice(0, firstProgramFrame), ...frames.slice(firstProgramFrame).filter(isProgramFrame)];
}

function isProgramFrame(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName() ?? "node:";
  return (
    !file.startsWith("node:") &&
    !OWN_DIRECTORIES.some((directory) => file.startsWith(directory)) &&
    !PULUMI_PATH.test(file)
  );
}

/** The dynamic resources, and those over the native plugin. */
const OWN_DIRECTORIES = [__dirname, join(__dirname, "..", "native")].map((directory) => `${directory}${sep}`);
const PULUMI_PATH = /[\\/]@pulumi[\\/]pulumi[\\/]/;
/** Where Pulumi keeps what began a promise. */
const DEBUGGABLE_PATH = /[\\/]@pulumi[\\/]pulumi[\\/]runtime[\\/]debuggable\.js$/;
