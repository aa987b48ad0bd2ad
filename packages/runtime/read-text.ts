interface WithBody {
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * Reads the body of a response as text.
 * @returns undefined if it exceeds `maxBytes`; the rest is not read, and the connection is closed
 */
export async function readText({ body }: WithBody, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
