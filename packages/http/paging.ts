import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Where the next page of a list is: a path with its parameters; absent after the last page. */
export interface NextPage {
  path: string;
  parameters: Readonly<Record<string, string | undefined>>;
}

function announceNextPage(reply: FastifyReply, next: NextPage | undefined): void {
  reply.header('x-has-more', String(next !== undefined));
  if (!next) return;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(next.parameters)) if (value !== undefined) search.set(name, value);
  reply.header('link', `<${next.path}?${search.toString()}>; rel="next"`);
}

/**
 * Sends a page as JSON text. Tells whether more follows in `X-Has-More`, and how exactly to go on in
 * `Link: <…>; rel="next"` (RFC 8288), an absolute path; parameters that are undefined are left out.
 */
export function sendPage(reply: FastifyReply, body: string | Readable, next: NextPage | undefined): FastifyReply {
  announceNextPage(reply, next);
  return sendJson(reply, body);
}

/** Sends JSON text that is ready as it is, whole or as it comes. */
export function sendJson(reply: FastifyReply, body: string | Readable): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(body);
}

/** Sends a file, to be saved under its name. */
export function sendFile(
  reply: FastifyReply,
  body: Readable,
  { fileName, mediaType }: { readonly fileName: string; readonly mediaType: string },
): FastifyReply {
  return reply.header('content-disposition', `attachment; filename="${fileName}"`).type(mediaType).send(body);
}
