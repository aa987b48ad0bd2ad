import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifySchema } from 'fastify';
import type { Http } from './http.ts';
import { pagePolicy } from './page-policy.ts';
import { FailureAnswer } from './schemas.ts';

interface ObjectSchema {
  properties?: Record<string, { default?: unknown }>;
  required?: string[];
}

/** Makes parameters with a default optional. */
function withoutStandardValues(schema: unknown): unknown {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  const needed = required.filter((name) => properties[name]?.default === undefined);
  return needed.length === required.length ? schema : { ...(schema as ObjectSchema), required: needed };
}

/** A route as it is described: what lies under /v1 needs an access token unless it says otherwise. */
function describeRoute(schema: FastifySchema = {}, url: string): FastifySchema {
  const { querystring, body } = schema;
  return {
    ...(url.startsWith('/v1/') && { security: [{ serviceToken: [] }] }),
    ...schema,
    ...(querystring !== undefined && { querystring: withoutStandardValues(querystring) }),
    ...(body !== undefined && { body: withoutStandardValues(body) }),
  };
}

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
    transform: ({ schema, url }) => ({ schema: describeRoute(schema, url), url }),
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json['$id'] === 'string' ? json['$id'] : `schema-${index}`,
    },
  });
  await http.register(swaggerUi, { routePrefix: '/docs', staticCSP: pagePolicy });
}
