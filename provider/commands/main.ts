#!/usr/bin/env node
import "../settings/program-node-version";
import "../machine/small-heap";
import { program } from "./program";

// Who reads may be gone, as `head` is after ten lines: what is under way goes on to its end all the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

void program().parseAsync();
