import { describePages, listPages } from "../docs/pages";

/* Runs each page's own blocks from the first line to the last: test/docs/run-page.ts. */
describePages(...listPages("docs/how-to"));
