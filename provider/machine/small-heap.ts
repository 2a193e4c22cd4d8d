import { setFlagsFromString } from "node:v8";

/*
 * Imported first by the command: the part of its heap for new objects stays at a megabyte or two. By default that part grows to
 * a hundred megabytes for a list of thousands, and the work takes no less time for it.
 */

setFlagsFromString("--semi-space-growth-factor=1");
