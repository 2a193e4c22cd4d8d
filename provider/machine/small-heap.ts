import { setFlagsFromString } from "node:v8";

/*
 * Imported first by the command, and by what Pulumi's host of dynamic resources loads of ours: the part of its heap that new
 * objects are made in stays as small as it is now, in the command a megabyte or two. By itself it grows to a hundred where
 * much is held, as of a list of thousands, and the work takes no less time for it.
 */

setFlagsFromString("--semi-space-growth-factor=1");
