import { join, sep } from "node:path";

/*
 * Pulumi captures four stack traces for each property of a resource, to debug promises that never resolve. It also
 * captures one for the resource, and stores its frames in the state, including those of the program's runner. In a
 * TypeScript program each frame is mapped to its source, which takes most of the time of a program with many resources.
 */

/**
 * Drops the frames of traces for promises, and limits other traces to the program's own frames. Returns a function that
 * restores the previous behaviour.
 *
 * Does nothing while `PULUMI_DEBUG_PROMISE_LEAKS` is set.
 */
export function shortenTraces(): () => void {
  const { prepareStackTrace: originalPrepare } = Error;
  // Node.js maps frames to their sources only if nothing overrides `prepareStackTrace`.
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

/** Removes the frames below the program. Pulumi relies on the frames above it: its own, and the resource's. */
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

/** The directories of the dynamic resources and of the native plugin's. */
const OWN_DIRECTORIES = [__dirname, join(__dirname, "..", "native")].map((directory) => `${directory}${sep}`);
const PULUMI_PATH = /[\\/]@pulumi[\\/]pulumi[\\/]/;
/** The module in which Pulumi records where a promise was created. */
const DEBUGGABLE_PATH = /[\\/]@pulumi[\\/]pulumi[\\/]runtime[\\/]debuggable\.js$/;
