import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Answers a request of git over HTTP with git's own server program.
 *
 * @param root the directory that contains the bare repository.
 * @param path the request's path below `root`.
 */
export function serveGit(request: IncomingMessage, response: ServerResponse, root: string, path: string): void {
  const { method = "", headers, url = "" } = request;
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: path,
      QUERY_STRING: url.split("?", 2)[1] ?? "",
      REQUEST_METHOD: method,
      // git accepts pushes only from a user whom the server has authenticated.
      REMOTE_USER: "project",
      CONTENT_TYPE: headers["content-type"] ?? "",
      CONTENT_LENGTH: headers["content-length"] ?? "",
      HTTP_CONTENT_ENCODING: headers["content-encoding"] ?? "",
      GIT_PROTOCOL: [headers["git-protocol"]].flat()[0] ?? "",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {});
  request.pipe(child.stdin);
  let head: Buffer | undefined = Buffer.alloc(0);
  child.stdout.on("data", (chunk: Buffer) => {
    if (head === undefined) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    for (const line of head.toString("latin1", 0, end).split("\r\n")) {
      const [name = "", value = ""] = line.split(": ", 2);
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  child.once("close", () => response.end());
}
