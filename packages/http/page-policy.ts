import type { Http } from './http.ts';

/** The policy of answers that are not pages: a browser loads nothing and shows them in no frame. */
export const answerPolicy = {
  useDefaults: false,
  directives: { defaultSrc: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] },
};

/** The policy of pages: scripts, data, fonts and workers from this origin only, and no inline scripts. */
export const pagePolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "worker-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Gives every answer of these routes the content security policy of a page. */
export function servePages(http: Http): void {
  http.addHook('onSend', async (_request, reply) => {
    reply.header('content-security-policy', pagePolicy);
  });
}

/** Asks browsers to stay with TLS for half a year, when the request came over TLS (HTTP_TRUST_PROXY behind a proxy). */
export function keepToTls(http: Http): void {
  http.addHook('onRequest', async (request, reply) => {
    if (request.protocol === 'https') reply.header('strict-transport-security', 'max-age=15552000; includeSubDomains');
  });
}
