import type { Http } from './http.ts';

/** The policy of answers that are not pages: a browser loads nothing and shows them in no frame. */
export const answerPolicy = {
  useDefaults: false,
  directives: { defaultSrc: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] },
};

/**
 * Builds the policy of pages: scripts, data, fonts and workers from this origin only, and no inline scripts.
 * @param dataOrigin one more origin for data and images, such as the server of map tiles
 */
export function createPolicy(dataOrigin?: string): string {
  return [
    "default-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' data: blob:${dataOrigin === undefined ? '' : ` ${dataOrigin}`}`,
    ...(dataOrigin === undefined ? [] : [`connect-src 'self' ${dataOrigin}`]),
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The policy of pages that load everything from this origin. */
export const pagePolicy = createPolicy();

/** Gives every answer of these routes the content security policy of a page. @param dataOrigin see createPolicy */
export function servePages(http: Http, dataOrigin?: string): void {
  const policy = createPolicy(dataOrigin);
  http.addHook('onSend', async (_request, reply) => {
    reply.header('content-security-policy', policy);
  });
}

/** Asks browsers to stay with TLS for half a year, when the request came over TLS (HTTP_TRUST_PROXY behind a proxy). */
export function keepToTls(http: Http): void {
  http.addHook('onRequest', async (request, reply) => {
    if (request.protocol === 'https') reply.header('strict-transport-security', 'max-age=15552000; includeSubDomains');
  });
}
