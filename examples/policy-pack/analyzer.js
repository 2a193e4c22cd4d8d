#!/usr/bin/env node
// What Pulumi's engine starts for `--policy-pack …/analyzer.js`, in the program's folder; the SDK looks for the pack's
// version in the working folder.
process.chdir(__dirname);
require("./index.js");
