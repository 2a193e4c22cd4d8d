#!/usr/bin/env node
import "../model/exit-on-old-node";
import "../system/cli-gc-tuning";
import { createProgram } from "./program";

// A reader such as `head` may close the pipe early. The command still runs to its end.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

void createProgram().parseAsync();
