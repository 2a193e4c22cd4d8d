#!/usr/bin/env node
// Pulumi's engine starts this file for `--policy-pack …/analyzer.js`, in the program's directory. The SDK reads the pack's
// version from the working directory.
process.chdir(__dirname);
require("./index.js");
