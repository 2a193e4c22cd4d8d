import { setFlagsFromString } from "node:v8";

/*
 * Imported first by the CLI: keeps the young generation of the heap at a megabyte or two. By default it grows to a hundred
 * megabytes for a list of thousands, without saving time.
 */

setFlagsFromString("--semi-space-growth-factor=1");
