import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import swagger from '@fastify/swagger';
import swaggerUi, { type FastifySwaggerUiOptions } from '@fastify/swagger-ui';
import { platformVersion } from '@odograph/runtime/platform-version';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Http } from './http.ts';
import { commonHeaders, describedRoutes, describeOperation, describeWebhooks } from './openapi-operation.ts';
import type { JsonSchema, NamedSchemas } from './openapi-schema.ts';
import { pagePolicy } from './page-policy.ts';
import { sessionCookie } from './session-cookie.ts';

/** The version of the interface specification that the paths under /v1 follow. */
const interfaceVersion = '1.13';

/** The subject of each tag, in the order of the reference page. */
const tags: Readonly<Record<string, string>> = {
  authentication: 'Access tokens and passwords',
  'api keys': 'API keys with scopes, instead of access tokens',
  sessions: 'Sessions of browsers, for pages',
  latest: 'The latest known state of vehicles, in the dynamic shape',
  live: 'Changes of the fleet as they happen',
  'fleet status': 'The latest status and position of a vehicle, in the fleet shape',
  history: 'Stored readings by device time, and readings that are missing',
  customcan: 'CAN data of vehicles with a proprietary CAN protocol',
  trips: 'Completed trips, with distance, consumption and route',
  changes: 'Readings in the order in which they were stored',
  exports: 'Readings, trips and gaps as files',
  'registration data': 'Registration-certificate and technical data by plate or VIN',
  'vehicles and devices': 'The vehicles of an application, and the devices linked to them',
  states: 'State flags that take a vehicle out of service',
  reports: 'Trips, mileage, energy, utilization and other reports as JSON, XLSX and PDF',
  privacy: 'Location privacy of a vehicle',
  'remote actions': 'Commands to the device of a vehicle',
  'bluetooth authorizations': "Drivers' rights to use a vehicle, with tokens and keys for Bluetooth",
  drivers: 'The vehicles and authorizations of a driver',
  bookings: 'Bookings and free-floating use of vehicles',
  alarms: 'Rules, geofences and the alarms that they raise',
  shares: 'Links that show a vehicle to people without an account',
  webhooks: 'Addresses that the events of an application are posted to',
  notifications: 'Messages about the events of an application, by e-mail, chat, SMS or push',
  'parking spots': 'Parking spots of an application, and which vehicle belongs to which',
  groups: 'A tree of vehicle groups, for grants, alarm rules and filters',
  gbfs: 'Vehicles and stations of sharing systems as GBFS 3.0, for everyone',
  operators: 'For the operator of the platform, with the admin token',
  operations: 'Health and metrics of the platform',
};

const description = `Vehicle telematics and fleet access. The paths below /v1 follow version ${interfaceVersion} of the interface specification;
those below /v1/x are additions. POST, PUT and DELETE take their parameters from the JSON body; the query string may give them instead.`;

/** Writes the OpenAPI document of the routes that are registered so far. */
function writeDocument(routes: readonly RouteOptions[]) {
  const named: NamedSchemas = new Map();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes.filter(({ schema }) => schema?.hide !== true).flatMap(describedRoutes)) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route, named) };
  }
  const webhooks = describeWebhooks(
    routes.flatMap(({ schema }) => (schema?.webhooks ?? []) as JsonSchema[]),
    named,
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Odograph',
      description: description.replaceAll('\n', ' '),
      version: platformVersion(),
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      'x-interface-version': interfaceVersion,
    },
    servers: [{ url: '/', description: 'this platform' }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    paths,
    webhooks,
    components: {
      headers: commonHeaders,
      schemas: Object.fromEntries([...named].sort(([one], [other]) => one.localeCompare(other))),
      securitySchemes: {
        serviceToken: {
          type: 'apiKey',
          in: 'header',
          name: 'x-service-token',
          description: 'access token, from POST /v1/login',
        },
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'API key of an application; can also be sent in the header x-service-token',
        },
        adminToken: { type: 'http', scheme: 'bearer', description: 'admin token of the platform' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie,
          description:
            'browser session, from POST /v1/x/session; an operator names the application in the header X-Application',
        },
      },
    },
  };
}

/** Writes OpenAPI 3.1 from the schemas of the routes that are added from now on; see documentInterface. */
export async function describeInterface(http: Http): Promise<void> {
  const routes: RouteOptions[] = [];
  http.addHook('onRoute', (route) => void routes.push(route));
  await http.register(swagger, {
    openapi: {},
    // The plugin serves the document; it does not write it.
    transform: ({ url }) => ({ url, schema: { hide: true } }),
    transformObject: () => writeDocument(routes),
  });
}

const readPart = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
/** The colours and the font of the pages of the documentation, as CSS. */
export const pageStyle = readPart('./pages.css');

const referenceOptions: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  staticCSP: pagePolicy,
  // A validator of another site would receive the document.
  uiConfig: {
    validatorUrl: null,
    docExpansion: 'none',
    deepLinking: true,
    filter: true,
    defaultModelsExpandDepth: 0,
  },
  theme: {
    title: 'Odograph: interface',
    css: [
      { filename: 'pages.css', content: pageStyle },
      { filename: 'reference-page.css', content: readPart('./reference-page.css') },
    ],
    js: [{ filename: 'reference-page.js', content: readPart('./reference-page.js') }],
  },
};

const isDocument = ({ routeOptions }: FastifyRequest): boolean => /^\/docs\/(json|yaml)$/.test(routeOptions.url ?? '');

const compress = promisify(gzip);

async function encode(document: string) {
  const etag = `W/"${createHash('sha256').update(document).digest('base64url')}"`;
  return { etag, gzipped: await compress(document) };
}

/** Compresses the document, which has 2 MB, and spares clients that have it; once, because routes no longer change. */
function encodeDocument(scope: Http): void {
  const encoded = new Map<string, ReturnType<typeof encode>>();
  scope.addHook('onSend', async (request, reply, payload) => {
    if (!isDocument(request) || typeof payload !== 'string' || reply.statusCode !== 200) return payload;
    const { url = '' } = request.routeOptions;
    const known = encoded.get(url) ?? encode(payload);
    encoded.set(url, known);
    const { etag, gzipped } = await known;
    reply.headers({ etag, 'cache-control': 'no-cache', vary: 'accept-encoding' });
    if (request.headers['if-none-match']?.includes(etag)) {
      reply.code(304);
      return null;
    }
    if (!/\bgzip\b(?!;q=0)/.test(String(request.headers['accept-encoding']))) return payload;
    reply.header('content-encoding', 'gzip');
    return gzipped;
  });
}

/**
 * Serves the document at /docs/json, to anyone, since generators come without credentials and it holds no data; and a page
 * for people at /docs.
 * @param authenticate for the page
 */
export async function documentInterface(
  http: Http,
  authenticate: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): Promise<void> {
  await http.register(async (scope: Http) => {
    scope.addHook('onRequest', async (request, reply) =>
      isDocument(request) ? undefined : authenticate(request, reply),
    );
    encodeDocument(scope);
    await scope.register(swaggerUi, referenceOptions);
  });
}
