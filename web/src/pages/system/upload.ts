/** Uploads a file with progress, which XMLHttpRequest reports and `fetch` does not. */

/** @throws Error with the hub's message. */
export function upload(
  url: string,
  file: File,
  progress: (share: number) => void,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", ({ loaded, total, lengthComputable }) => {
      if (lengthComputable && total > 0) progress(loaded / total);
    });
    request.addEventListener("load", () => {
      const body = parsed(request.responseText);
      if (request.status < 300) return resolve(body);
      const { error } = body as { readonly error?: unknown };
      return reject(
        new Error(typeof error === "string" ? error : `The hub returned status ${request.status}.`),
      );
    });
    request.addEventListener("error", () =>
      reject(new Error("The connection broke: the file was not uploaded.")),
    );
    request.send(file);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
