import { setFlagsFromString } from "node:v8";

/*
 * Imported by the command, and by what Pulumi's host of dynamic resources loads of ours: the part of its heap that new
 * objects are made in stays as large as it is at that moment, a few megabytes. By itself it grows to a hundred where
 * much is held, as of a list of thousands, and the work takes hardly less time for it.
 */

setFlagsFromString("--semi-space-growth-factor=1");
