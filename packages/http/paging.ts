import type { FastifyReply } from 'fastify';

/** Where the next page of a list is: a path with its parameters; absent after the last page. */
export interface NextPage {
  path: string;
  parameters: Readonly<Record<string, string | undefined>>;
}

/**
 * Tells whether more follows in `X-Has-More`, and how exactly to go on in `Link: <…>; rel="next"` (RFC 8288), an
 * absolute path. Parameters that are undefined are left out.
 */
export function announceNextPage(reply: FastifyReply, next: NextPage | undefined): void {
  reply.header('x-has-more', String(next !== undefined));
  if (!next) return;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(next.parameters)) if (value !== undefined) search.set(name, value);
  reply.header('link', `<${next.path}?${search.toString()}>; rel="next"`);
}
