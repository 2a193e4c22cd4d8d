#!/usr/bin/env node
import "../settings/program-node-version";
// Before code is compiled: what Node.js keeps of it holds for the flags that a process has then.
import "../machine/small-heap";
import "../resources/compile-cache";
import { program } from "./program";

// Who reads may be gone, as `head` is after ten lines: what is under way goes on to its end all the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

void program().parseAsync();
