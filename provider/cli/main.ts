#!/usr/bin/env node
import "../settings/program-node-version";
import "../resources/compile-cache";
// What it loads makes the young part of the heap four megabytes, and there it stays: with one, a rollout takes a tenth longer.
import "../client";
import "../machine/small-heap";
import { program } from "./program";

// Who reads may be gone, as `head` is after ten lines: what is under way goes on to its end all the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

void program().parseAsync();
