#!/usr/bin/env node
import "../settings/program-node-version";
import { program } from "./program";

void program().parseAsync();
