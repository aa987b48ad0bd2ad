import Type from 'typebox';

/**
 * Texts of a setting beside its schema: `description` and `unit` are for the table of docs/settings.md, `absent` is its
 * default there when the schema has none, `row` names the row of settings that share one, and `rule` is the message about a
 * value that breaks its pattern.
 */
interface Texts {
  readonly description: string;
  readonly row?: string;
  readonly unit?: string;
  readonly absent?: string;
  readonly rule?: string;
}

const port = (defaultValue: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: defaultValue, description });
const whole = (defaultValue: number, description: string, unit?: string, minimum = 1, maximum?: number) =>
  Type.Integer({ minimum, ...(maximum && { maximum }), default: defaultValue, description, ...(unit && { unit }) });
const milliseconds = (defaultValue: number, description: string, minimum = 1, maximum = 86_400_000) =>
  whole(defaultValue, description, 'ms', minimum, maximum);
const text = (defaultValue: string, description: string, pattern = '.') =>
  Type.String({ pattern, default: defaultValue, description });
const flag = (description: string) => Type.Boolean({ default: false, description });
const optional = (pattern: string, texts: Texts) => Type.Optional(Type.String({ pattern, ...texts }));
const anyText = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const file = anyText;

const databaseUrl = (description: string, more: Partial<Texts> = { absent: 'the same' }) =>
  optional('^postgres(ql)?://', { rule: 'must begin with postgres:// or postgresql://', description, ...more });
const httpUrl = (description: string, absent = 'none') =>
  optional('^https?://', { rule: 'must begin with http:// or https://', description, absent });
const mqttUrl = (description: string, absent = 'none') =>
  optional('^mqtts?://', { rule: 'must begin with mqtt:// or mqtts://', description, absent });

const services = [
  ...(['broker', 'gateway', 'ingest', 'query', 'fleet', 'access', 'registration', 'command', 'console'] as const),
  'events',
] as const;
type Service = (typeof services)[number];

/** The setting that names the database of each service, in its own role. */
export const serviceDatabaseNames = Object.fromEntries(
  services.map((service) => [service, `${service.toUpperCase()}_DATABASE_URL`]),
) as { readonly [Name in Service]: `${Uppercase<Name>}_DATABASE_URL` };

const serviceDatabase = databaseUrl(
  `database of one service, which signs in with its own role ([security.md](security.md)). Services: ${services.flatMap((name) => (name === 'query' ? [] : [`\`${name.toUpperCase()}\``])).join(', ')}`,
  { absent: 'the same', row: '<SERVICE>_DATABASE_URL' },
);
const serviceDatabases = Object.fromEntries(
  Object.values(serviceDatabaseNames).map((name) => [name, serviceDatabase]),
) as Record<(typeof serviceDatabaseNames)[Service], typeof serviceDatabase>;

/** Bounds the connections of each process; more shards than ingest processes bring no throughput. */
export const maxUploadShards = 64;

const retention = (defaultValue: number, description: string, row?: string) =>
  Type.Integer({ minimum: 0, default: defaultValue, unit: 'days', description, ...(row && { row }) });
const retentionOfKind = (defaultValue: number) =>
  retention(
    defaultValue,
    'remove ended commands, ended bookings and authorizations, cleared alarms, and audit rows (the chains still verify) that are older; 0 keeps them. Kinds: `COMMAND`, `BOOKING`, `ALARM`, `AUDIT`; and `QUARANTINE`, uploads in quarantine, with a default of 90 days',
    '<KIND>_RETENTION_DAYS',
  );

const issuerPattern = '^(https://|http://(localhost|127\\.0\\.0\\.1)[:/]?)';
const rolesPattern =
  '^[^,=]+=(viewer|operator|administrator)(:[\\w+-]+)?(,[^,=]+=(viewer|operator|administrator)(:[\\w+-]+)?)*$';

const required = (pattern: string) => Type.String({ pattern });
/** The value of OIDC_PROVIDERS; its members correspond to the settings for one provider. */
export const OidcProviders = Type.Array(
  Type.Object(
    {
      /** Part of the redirect URI; `provider` is reserved for the provider of OIDC_ISSUER. */
      id: required('^(?!provider$|callback$|logout$)[a-z0-9-]{1,32}$'),
      name: required('^.{1,64}$'),
      issuer: required(issuerPattern),
      clientId: required('.'),
      clientSecret: required('.'),
      scope: Type.Optional(required('\\bopenid\\b')),
      roles: required(rolesPattern),
    },
    { additionalProperties: false },
  ),
);

/** Every setting by its environment variable. `npm run settings:docs` writes the table of docs/settings.md from it. */
export const Settings = Type.Object({
  DATABASE_URL: databaseUrl('PostgreSQL with TimescaleDB', { absent: 'embedded' }),
  ...serviceDatabases,
  QUERY_DATABASE_URL: optional('^postgres(ql)?://[^,]+(,postgres(ql)?://[^,]+)*$', {
    rule: 'must be addresses that begin with postgres:// or postgresql://, separated by commas',
    absent: 'the same',
    description:
      'databases that only reads go to, separated by commas: standbys, and the primary in the role of the service ([scaling.md](scaling.md#reads-from-standbys)); equal in all processes',
  }),
  MIGRATION_DATABASE_URL: databaseUrl(
    'the database as the owner of the tables, for `npm run migrate`, `backup`, `restore` and `doctor`',
  ),
  CELL: whole(
    0,
    'number of this installation among several, 0 to 99: ids, appIds and tokens differ between cells ([scaling.md](scaling.md#cells)). Set it before the first application; equal in all processes',
    undefined,
    0,
    99,
  ),
  DATABASE_POOL_SIZE: whole(10, 'connections a service'),
  REDIS_URL: optional('^rediss?(\\+(cluster|sentinel))?://', {
    rule: 'must begin with redis://, rediss://, redis+cluster:// or redis+sentinel://',
    description:
      'Redis with `appendonly yes`, `appendfsync always`, `maxmemory-policy noeviction`; also `redis+cluster://HOST:PORT,…`, `redis+sentinel://HOST:PORT,…/NAME`, or several of these, separated by commas ([scaling.md](scaling.md#queues))',
    absent: 'embedded',
  }),
  REDIS_REPLICAS: whole(
    0,
    'replicas of Redis that must have an upload or acknowledgement before its PUBACK ([scaling.md](scaling.md#replicas))',
    undefined,
    0,
    10,
  ),
  UPLOAD_SHARDS: whole(
    1,
    'shards over which uploads are distributed by device ([scaling.md](scaling.md#queues)); must be equal in all processes of an installation',
    undefined,
    1,
    maxUploadShards,
  ),
  REDIS_ALLOW_DATA_LOSS: flag(
    'true starts on a Redis that can lose acknowledged uploads (no AOF, no fsync on every write, or an evicting policy); logged, and shown in /health and `odograph_redis_durable`',
  ),
  QUEUE_PREFIX: text('odograph', 'prefix of every key in Redis', '^[A-Za-z0-9_{}-]+$'),
  HTTP_HOST: text('127.0.0.1', 'address of the HTTP listener'),
  HTTP_PORT: port(8080, 'port of the HTTP listener'),
  ODOGRAPH_URL: httpUrl('address of the platform for the command line', 'from host and port'),
  HTTP_TRUST_PROXY: Type.String({
    default: '0',
    description:
      'behind proxies that set `X-Forwarded-For`: their number, or their networks such as `10.0.0.0/8,fd00::/8`',
  }),
  HTTP_REQUESTS_PER_MINUTE: whole(6000, 'for each address; more are answered 429'),
  METRICS_NETWORKS: Type.String({ default: '127.0.0.0/8,::1', description: 'read `/metrics` without a token' }),
  METRICS_TOKEN: optional('^[^,\\s]{16,}$', {
    rule: 'must be a token of at least 16 characters',
    description: 'grants access to `/metrics` from any network, and nothing else; at least 16 characters',
  }),
  MQTT_HOST: text('127.0.0.1', 'address of the MQTT listeners'),
  MQTT_PORT: port(1883, 'port of the MQTT listener'),
  MQTTS_PORT: port(8883, 'MQTT over TLS, only with a certificate'),
  MQTT_PUBLIC_URL: mqttUrl(
    'address at which devices reach the broker, as the console shows it with the settings of a device: `mqtts://telematics.example.com:8883`',
    'from host and ports',
  ),
  MQTT_TLS_CERTIFICATE: file('PEM file'),
  MQTT_TLS_KEY: file('PEM file'),
  MQTT_TLS_CLIENT_CA: file('PEM file of the authorities that sign client certificates of devices'),
  MQTT_TLS_CLIENT_CRL: file('PEM file with the revocation lists of these authorities'),
  TELTONIKA_HOST: text('127.0.0.1', 'address of the Teltonika listeners'),
  TELTONIKA_PORT: port(
    5027,
    'TCP and UDP for Teltonika devices ([devices/teltonika.md](devices/teltonika.md)); 0 closes both',
  ),
  TELTONIKA_TLS_PORT: port(0, 'the same over TLS, with the certificate of `MQTT_TLS_CERTIFICATE`'),
  TELTONIKA_UDP: Type.Boolean({
    default: true,
    description: 'false disables UDP, whose source addresses can be forged',
  }),
  TELTONIKA_NETWORKS: Type.Optional(
    Type.String({
      absent: 'all',
      description:
        'networks such as `10.20.0.0/16,fd00::/8` that Teltonika devices may report from, over TCP, TLS and UDP; others are refused before a byte is read. Behind a load balancer, the address of the balancer is checked unless it is in `PROXY_PROTOCOL_NETWORKS`',
    }),
  ),
  PROXY_PROTOCOL_NETWORKS: Type.String({
    default: '',
    description:
      'networks of load balancers such as `10.0.0.0/8,fd00::/8` whose connections for MQTT and Teltonika begin with a PROXY protocol header (version 2), so that limits and logs use the address of the device; connections from them without a header are refused',
  }),
  DATA_DIR: text(
    '.odograph',
    'embedded data, export files and `admin-token` (mode 600, created at the first start); all query processes need the same `exports` in it',
  ),
  ADMIN_TOKEN: optional('^[^,\\s]{16,}(,[^,\\s]{16,})?$', {
    rule: 'must be a token of at least 16 characters, or two separated by a comma',
    absent: "the file's",
    description:
      'at least 16 characters, or during a rotation two tokens separated by a comma, newest first, both accepted; equal in all processes of an installation',
  }),
  SECOND_FACTOR_ROLE: text(
    'none',
    'lowest role of operators that requires a second factor for signing in with a password: `viewer`, `operator` or `administrator` ([sign-in.md](sign-in.md#second-factor)); equal in all processes of an installation',
    '^(none|viewer|operator|administrator)$',
  ),
  ENCRYPTION_KEYS: optional('^[^,\\s]{32,}(,[^,\\s]{32,})*$', {
    rule: 'must be keys of at least 32 characters, separated by commas',
    absent: 'a file in `DATA_DIR`',
    description:
      'secrets of 32 characters or more, newest first, separated by commas: the first encrypts stored secrets, all of them decrypt',
  }),
  ACK_TIMEOUT_MS: milliseconds(10_000, 'longest wait for the acknowledgement of a command', 100, 60_000),
  RETENTION_DAYS: retention(
    0,
    'remove readings older than this, in whole weeks, so up to seven days later, and the end points of trips; 0 keeps them',
  ),
  COMMAND_RETENTION_DAYS: retentionOfKind(0),
  BOOKING_RETENTION_DAYS: retentionOfKind(0),
  ALARM_RETENTION_DAYS: retentionOfKind(0),
  AUDIT_RETENTION_DAYS: retentionOfKind(0),
  QUARANTINE_RETENTION_DAYS: retentionOfKind(90),
  REGISTRATION_PROVIDER: file(
    'JSON file that describes a provider of registration data ([registration.md](registration.md))',
  ),
  REGISTRATION_PROVIDER_KEY: optional('^[!-~]([ -~]*[!-~])?$', { description: 'key for the provider' }),
  MAP_TILES: optional('^(?!https?://)', {
    absent: '`DATA_DIR/map.pmtiles`, if it exists',
    rule: 'must be a PMTiles file; MAP_TILES_URL is for an address',
    description:
      "PMTiles file for the console's map ([console.md](console.md)); a file that cannot be used is logged and shown in /health, and the map shows outlines of countries",
  }),
  MAP_TILES_URL: optional('^https?://[^/?#{}]+/(?=.*\\{z\\})(?=.*\\{x\\})(?=.*\\{y\\})', {
    rule: 'must be an address with {z}, {x} and {y}, such as https://tiles.example/{z}/{x}/{y}.png',
    description:
      'instead of a file, the address of images, such as `https://tiles.example/{z}/{x}/{y}.png`; browsers load them from there',
  }),
  MAP_STYLE_URL: httpUrl(
    'instead of a file, the address of a MapLibre style; everything that it names must be on the same host',
  ),
  MAP_ATTRIBUTION: Type.Optional(
    Type.String({ maxLength: 500, absent: 'that of the file', description: 'who made the map, to be shown on it' }),
  ),
  PUBLIC_URL: httpUrl(
    'public address of the platform, for links in messages and of shares, and the only one at which [passkeys](sign-in.md#passkeys) are accepted: `https://fleet.example.com`',
    'none: messages contain no links, and passkeys belong to the host name of the request',
  ),
  OIDC_ISSUER: optional(issuerPattern, {
    rule: 'must begin with https://',
    absent: 'none: operators sign in with passwords',
    description:
      'OpenID Connect provider through which operators sign in: `https://id.example.com/realms/fleet` ([sign-in.md](sign-in.md#openid-connect))',
  }),
  OIDC_CLIENT_ID: anyText('client ID of the platform at the provider'),
  OIDC_CLIENT_SECRET: anyText('client secret of the platform at the provider'),
  OIDC_NAME: text('the identity provider', 'name of the provider on the sign-in button', '^.{1,64}$'),
  OIDC_SCOPE: text(
    'openid profile email',
    'scopes to request; the ID token must contain the claim `groups`',
    '\\bopenid\\b',
  ),
  OIDC_ROLES: optional(rolesPattern, {
    rule: 'must be GROUP=ROLE or GROUP=ROLE:APPID+APPID, separated by commas',
    absent: 'none: no operator can sign in through the provider',
    description:
      'roles of the groups in the claim `groups`; the first group of this list that an operator belongs to applies: `fleet-admins=administrator,fleet=viewer:app-7f3a+app-b210`',
  }),
  OIDC_PROVIDERS: anyText('further providers, as a JSON array ([sign-in.md](sign-in.md#several-providers))'),
  SMTP_URL: optional('^smtps?://', {
    rule: 'must begin with smtp:// or smtps://',
    description:
      'mail server, such as `smtps://user:password@mail.example.com:465`. `smtp://` uses TLS if the server offers it; with `?requireTLS=true`, and for `smtps://`, the certificate must be valid ([notifications.md](notifications.md))',
    absent: 'none: no e-mail is sent',
  }),
  MAIL_FROM: optional('^(?:[^<>\\r\\n]*<)?[^\\s<>@]+@[A-Za-z0-9.-]+>?$', {
    rule: 'must be an e-mail address, such as Odograph <fleet@example.com>',
    description: 'sender address of e-mail',
  }),
  GEOCODER_URL: httpUrl(
    'geocoder for the [addresses](addresses.md) of vehicles: `http://127.0.0.1:2322`; it learns which places people look at',
  ),
  GEOCODER_KIND: Type.Enum(['photon', 'nominatim', 'pelias'], {
    default: 'photon',
    description: 'API of the geocoder: photon, nominatim or pelias',
  }),
  GEOCODER_REQUESTS_PER_SECOND: whole(
    1,
    'limit for all processes together; public servers permit one',
    undefined,
    1,
    100,
  ),
  ROUTER_URL: httpUrl(
    'router that snaps trips to roads and estimates the arrival of [shares](shares.md): `http://127.0.0.1:5000` ([routing.md](routing.md))',
  ),
  ROUTER_KIND: Type.Enum(['osrm', 'valhalla'], {
    default: 'osrm',
    description: 'API of the router: osrm or valhalla',
  }),
  ROUTER_REQUESTS_PER_SECOND: whole(
    1,
    'limit for all processes together; public servers permit one',
    undefined,
    1,
    100,
  ),
  ALERT_EMAIL: optional('^[^\\s<>@,]+@[A-Za-z0-9.-]+$', {
    rule: 'must be an e-mail address',
    description:
      'e-mail address of the operator; each process reports its states in /health that fail for more than a minute ([notifications.md](notifications.md#faults-of-the-platform))',
  }),
  HOME_ASSISTANT_MQTT_URL: mqttUrl(
    'broker of Home Assistant, with user and password ([home-assistant.md](home-assistant.md))',
  ),
  HOME_ASSISTANT_APPLICATIONS: optional('^[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+)*$', {
    rule: 'must be the appIds of applications, separated by commas',
    description: 'appIds whose vehicles are published there, separated by commas',
  }),
  WEBHOOK_ALLOWED_NETWORKS: Type.String({
    default: '',
    description:
      'networks such as `10.0.0.0/8,fd00::/8` that [webhooks](webhooks.md) may be delivered to although they are not public, also without TLS',
  }),
  SHUTDOWN_DRAIN_MS: milliseconds(
    2000,
    "after SIGTERM, /health is 503 for this long before connections are refused; longer than the balancer's check interval",
    0,
  ),
  SESSION_DRAIN_MS: milliseconds(
    10_000,
    'a stopping broker or gateway ends 1,000 sessions per second, or more if needed to end all within this time; 0 ends all at once',
    0,
    300_000,
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl(
    'address of an OpenTelemetry collector, such as http://127.0.0.1:4318, to which traces are sent over OTLP/HTTP ([operating.md](operating.md#traces))',
  ),
  AWS_ACCESS_KEY_ID: anyText(
    'key of an S3-compatible store, for `archive` and `import` ([scaling.md](scaling.md#archive))',
  ),
  AWS_SECRET_ACCESS_KEY: anyText('its secret'),
  AWS_SESSION_TOKEN: anyText('its session token, for a temporary key'),
  AWS_REGION: text('us-east-1', 'region of the store'),
  AWS_ENDPOINT_URL: httpUrl('address of the store', 'that of Amazon S3 in the region'),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'trace, debug, info, warn, error, fatal, silent',
  }),
});

/** Settings of earlier versions that are no longer read. */
export const removedSettings = [
  ...['ALLOW_INCOMPLETE_DATABASE', 'ALLOW_UNREADABLE_VALUES', 'AUTHORIZATION_MAX_DAYS', 'EVENT_RETENTION_DAYS'],
  ...['EXPORT_DIRECTORY', 'EXPORT_JOBS_PER_APPLICATION', 'EXPORT_MAX_BYTES', 'FLESPI_URL'],
  ...['HOME_ASSISTANT_DISCOVERY_PREFIX', 'HTTP_ANSWER_BUFFER_BYTES', 'HTTP_CONNECTIONS_PER_ADDRESS'],
  ...['HTTP_MAX_CONNECTIONS', 'HTTP_REQUEST_TIMEOUT_MS', 'LOGIN_ATTEMPTS_PER_MINUTE', 'MQTT_DEVICE_BYTES_PER_SECOND'],
  ...['MQTT_DEVICE_UPLOADS_PER_SECOND', 'MQTT_FAILURES_PER_ADDRESS', 'MQTT_FAILURES_PER_DEVICE', 'MQTT_URL'],
  ...['MQTT_MAX_CONNECTIONS', 'QUARANTINE_UPLOADS_PER_HOUR', 'READING_MAX_AGE_DAYS', 'READING_NEW_CHUNKS_PER_HOUR'],
  ...['REGISTRATION_PROVIDER_KEY_HEADER', 'REGISTRATION_PROVIDER_MAPPING', 'REGISTRATION_PROVIDER_URL'],
  ...['SESSION_SECONDS', 'SHUTDOWN_TIMEOUT_MS', 'SOURCE_BYTES_PER_SECOND', 'SOURCE_NEW_DEVICES_PER_HOUR'],
  ...['SOURCE_REQUESTS_PER_SECOND', 'TELTONIKA_MAX_CONNECTIONS', 'TRIPS_PAUSE_MS'],
  ...['UPLOAD_BACKLOG_BYTES', 'UPLOAD_BACKLOG_JOBS', 'UPLOAD_HELD_BYTES', 'UPLOAD_MAX_DELAY_SECONDS'],
];

/** Lists all settings as a table in Markdown. */
export function settingsTable(): string {
  const rows = new Map<string, string>();
  for (const [name, schema] of Object.entries<object>(Settings.properties)) {
    const texts = schema as Texts & { readonly default?: string | number | boolean };
    const { default: defaultValue = '', unit = '', absent = 'none', row = name, description } = texts;
    if (rows.has(row)) continue;
    rows.set(
      row,
      `| \`${row}\` | ${defaultValue === '' ? absent : `${defaultValue} ${unit}`.trim()} | ${description} |`,
    );
  }
  return ['| name | default | meaning |', '| --- | --- | --- |', ...rows.values()].join('\n');
}
