import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { Http } from './http.ts';
import { pagePolicy } from './page-policy.ts';
import { FailureAnswer } from './schemas.ts';

/** OpenAPI 3.1 at /docs/json and a page for people at /docs, made from the schemas of the routes. */
export async function describeInterface(http: Http): Promise<void> {
  http.addSchema(FailureAnswer);
  await http.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Odograph', description: 'Vehicle telematics and fleet access', version: '1.13' },
      components: {
        securitySchemes: {
          serviceToken: { type: 'apiKey', in: 'header', name: 'x-service-token' },
          adminToken: { type: 'http', scheme: 'bearer' },
        },
      },
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json['$id'] === 'string' ? json['$id'] : `schema-${index}`,
    },
  });
  await http.register(swaggerUi, { routePrefix: '/docs', staticCSP: pagePolicy });
}
